//go:build e2e

package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/push/pushtest"
	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/runtime/containertest"
	"github.com/longshore-bridge/longshore/internal/need"
)

// The chats of the sabotaged host, and one that no group has.
const (
	sabotagedChat = -1001
	strangeChat   = -1009
)

// sabotaged is a host that is well, with one group on Telegram, until the test breaks
// something.
type sabotaged struct {
	*stage.Changing
	t      *testing.T
	srv    *telegramtest.Server
	page   *http.Client
	pageAt string
	key    string
	hooks  chan string  // the bodies that the operator's webhook gets
	ahead  atomic.Int64 // ns that Telegram's clock is ahead
	shared string       // the directory that the group has as /workspace/extra/docs
}

// sabotagedConfig has the assistant and the group's further keys.
const sabotagedConfig = `channels: {telegram: {token_file: bot, server: %q, rate: {per_minute: 60000, burst: 1000}}}
operator_page: {listen: "127.0.0.1:0"}
limits: {free_disk: 1MB}
notify: {after: 1s, webhook: {url: %q, secret: "${HOOK_SECRET}"}}
mounts: {allow: [{path: %q}]}
assistants: {helper: %s}
groups: [{name: Family, folder: family, chat: "tg:%d", assistant: helper, gather: {after: 0s}, mounts: [{name: docs, host: %q}]%s}]
`

// newSabotaged runs the host. assistant is as longshore.yaml has it; programs are scripts
// on the host's PATH, by their names; size is of its file system, and 0: that of the
// machine's temporary files.
func newSabotaged(t *testing.T, s sabotage) *sabotaged {
	t.Helper()
	t.Setenv("HOOK_SECRET", pushtest.Secret())
	x := &sabotaged{t: t, srv: telegramtest.New(t, sabotagedChat, strangeChat), hooks: make(chan string, 64), page: &http.Client{}}
	answer := x.srv.Config.Handler
	x.srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(time.Duration(x.ahead.Load())).UTC().Format(http.TimeFormat))
		answer.ServeHTTP(w, r)
	})
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		x.hooks <- string(body)
	}))
	t.Cleanup(hook.Close)
	x.Changing = stage.NewChangingWith(t, func(dir string) string {
		if s.disk != "" {
			stage.Must(t, os.Mkdir(filepath.Join(dir, "state"), 0o700))
			if err := unix.Mount("tmpfs", filepath.Join(dir, "state"), "tmpfs", 0, s.disk); err != nil {
				need.Lacking(t, "mount a file system: %v", err)
			}
			t.Cleanup(func() { stage.Must(t, unix.Unmount(filepath.Join(dir, "state"), unix.MNT_DETACH)) })
		}
		x.shared = filepath.Join(dir, "docs")
		bin := filepath.Join(dir, "bin")
		stage.Must(t, os.Mkdir(x.shared, 0o755))
		stage.Must(t, os.Mkdir(bin, 0o755))
		if s.claude != "" {
			stage.Must(t, os.WriteFile(filepath.Join(bin, "claude"), []byte("#!/bin/sh\n"+s.claude), 0o755))
		}
		t.Setenv("PATH", bin+":/usr/bin:/bin")
		stage.Must(t, os.WriteFile(filepath.Join(dir, "bot"), []byte(telegramtest.Token), 0o600))
		if s.assistant == "" {
			s.assistant = "{agent: sample}"
		}
		return fmt.Sprintf(sabotagedConfig, x.srv.URL, hook.URL, x.shared, s.assistant, sabotagedChat, x.shared, s.group)
	})
	address, err := x.Client.PageURL(t.Context())
	stage.Must(t, err)
	at, token, _ := strings.Cut(address.URL, "#")
	x.pageAt = strings.TrimSuffix(at, "/")
	resp, err := http.Post(x.pageAt+"/sign-in", "text/plain", strings.NewReader(token))
	stage.Must(t, err)
	defer resp.Body.Close()
	var signed struct{ Key string }
	stage.Must(t, json.NewDecoder(resp.Body).Decode(&signed))
	x.key = signed.Key
	return x
}

// says has a member write in a chat.
func (x *sabotaged) says(chat int64, text string) {
	x.srv.Tell("message", chat, map[string]any{"text": text, "from": map[string]any{"id": 7, "first_name": "Ann"}})
}

// asked is what a command prints, as to somebody who does not name the file.
func (x *sabotaged) asked(args ...string) string {
	var out bytes.Buffer
	Run(context.Background(), "", stage.AllPlatforms(), append([]string{"-c", x.File}, args...), nil, &out, &out)
	return strings.ReplaceAll(strings.Join(strings.Fields(out.String()), " "), "longshore -c "+terminal.ShellWord(x.File)+" ", "longshore ")
}

// faults are those that the operator's page gets, as text.
func (x *sabotaged) faults() string {
	x.t.Helper()
	req, err := http.NewRequestWithContext(x.t.Context(), http.MethodGet, x.pageAt+"/v1/overview", nil)
	stage.Must(x.t, err)
	req.Header.Set("Authorization", "Bearer "+x.key)
	resp, err := x.page.Do(req)
	stage.Must(x.t, err)
	defer resp.Body.Close()
	var o operator.Overview
	stage.Must(x.t, json.NewDecoder(resp.Body).Decode(&o))
	var all []string
	for _, f := range o.Status.Findings {
		all = append(all, f.Name+": "+f.Cause+" to do: "+f.Remedy)
	}
	return strings.Join(all, "\n")
}

// sabotage is one thing that somebody broke, and the words that name it.
type sabotage struct {
	assistant string // as longshore.yaml has it
	claude    string // the script of that name on the host's PATH
	group     string // further keys of the group
	disk      string // options of a tmpfs below the state directory

	of  string // what `why` is asked for; empty: the group
	act func(x *sabotaged)

	why    []string // in what `why` prints
	faults []string // in what status prints, the page shows, and the webhook gets
}

func sabotages() map[string]sabotage {
	const rejects = `echo '{"type":"result","is_error":true,"result":"Failed to authenticate. API Error: 401 invalid x-api-key"}'; exit 1`
	hello := func(x *sabotaged) { x.says(sabotagedChat, "hello?") }
	return map[string]sabotage{
		"key wrong": {
			assistant: "{agent: claude}", claude: rejects, act: hello,
			why: []string{"no turn", "key_not_accepted", "give assistants.helper in"}, faults: []string{"key_not_accepted", "assistant helper", "longshore why family"},
		},
		"trigger forgotten": {
			group: `, trigger: "@Andy"`,
			act: func(x *sabotaged) {
				for range 3 {
					hello(x)
				}
			},
			why: []string{"! trigger", "3 messages, none of them with @Andy", "tell the members to write @Andy"}, faults: []string{"never_called", "none of them with @Andy", "tell the members to write @Andy"},
		},
		"CLI missing": {
			assistant: "{agent: claude}", act: hello,
			why: []string{"no program", `"claude" of assistant "helper" was not found`, "install it"}, faults: []string{"not_installed", "assistant helper", "longshore why family"},
		},
		"image missing": {
			assistant: `{runtime: docker, agent: sample, image: "longshore-test/nowhere:here"}`, act: hello,
			why: []string{"no program", "longshore-test/nowhere:here", "image build --tag longshore-test/nowhere:here"}, faults: []string{"image_missing", "assistant helper", "longshore why family"},
		},
		"channel unlinked": {
			act: func(x *sabotaged) {
				x.srv.Always("getUpdates", telegramtest.Fault{Status: 401, Body: `{"ok":false,"error_code":401,"description":"Unauthorized"}`})
				hello(x)
			},
			why: []string{"no channel", "telegram is not connected"}, faults: []string{"channel_down", "telegram is not connected", "longshore doctor"},
		},
		"chat not registered": {
			of: fmt.Sprint("tg:", strangeChat), act: func(x *sabotaged) { x.says(strangeChat, "hello?") },
			why: []string{"no group", "the chat tg:-1009 is not registered", "groups add tg:-1009"}, faults: []string{"chat_not_registered", "tg:-1009", "groups add tg:-1009"},
		},
		"disk full": {
			disk: "size=24m,mode=0700",
			act: func(x *sabotaged) {
				file, err := os.Create(filepath.Join(x.Layout.State, "log of somebody else"))
				stage.Must(x.t, err)
				_, err = io.Copy(file, endless{})
				if err == nil {
					x.t.Error("the disk has no end")
				}
				stage.Must(x.t, file.Close())
				hello(x)
			},
			why: []string{"no disk", "no delivery can be accepted", "make room"}, faults: []string{"not_accepting", "make room"},
		},
		"clock off by a day": {
			act: func(x *sabotaged) { x.ahead.Store(int64(24 * time.Hour)); hello(x) },
			why: []string{"! clock", "behind the platforms'", "set the clock"}, faults: []string{"clock_off", "behind the platforms'", "set the clock"},
		},
		"mount gone": {
			act: func(x *sabotaged) { stage.Must(x.t, os.Rename(x.shared, x.shared+" of before")) },
			why: []string{"! mount_missing", "docs\" is no directory", "/workspace/extra/docs, is gone or another one", "put it back"}, faults: []string{"mount_missing", "which group family has as /workspace/extra/docs", "put it back"},
		},
		"configuration broken on reload": {
			act: func(x *sabotaged) {
				text, err := os.ReadFile(x.File)
				stage.Must(x.t, err)
				x.Write(strings.Replace(string(text), "free_disk", "free_disc", 1))
				if r, err := x.Client.Reload(x.t.Context(), false); err != nil || len(r.Problems) == 0 {
					x.t.Errorf("reloaded: %+v, %v", r, err)
				}
			},
			why: []string{"! config_refused", "no configuration", "free_disc", "reload"}, faults: []string{"config_refused", "free_disc", "longshore config validate"},
		},
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestTenSabotagesAreNamedWhereAnOperatorLooks: by why, by status, on the operator's page and
// by a notification, each with what to do.
func TestTenSabotagesAreNamedWhereAnOperatorLooks(t *testing.T) {
	for name, s := range sabotages() {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(s.assistant, "docker") {
				_, engine := containertest.Engine(t)
				t.Setenv("DOCKER_HOST", engine)
			}
			x := newSabotaged(t, s)
			of := s.of
			if of == "" {
				of = "family"
			}
			if before := x.faults(); before != "" {
				t.Fatalf("a host that is well: %s", before)
			}
			s.act(x)
			x.names("why", s.why, func() string { return x.asked("why", of) })
			x.names("status", s.faults, func() string { return x.asked("status") })
			x.names("the page", s.faults, x.faults)
			var told string
			x.names("the notification", s.faults, func() string {
				select {
				case body := <-x.hooks:
					told += body
				default:
				}
				return told
			})
		})
	}
}

// names waits until what is said holds all the words.
func (x *sabotaged) names(who string, words []string, says func() string) {
	x.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(stage.Patience); ; {
		said, missing := says(), ""
		for _, w := range words {
			if !strings.Contains(said, w) {
				missing = w
			}
		}
		if missing == "" {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			x.t.Fatalf("%s lacks %q:\n%s", who, missing, said)
		}
	}
}
