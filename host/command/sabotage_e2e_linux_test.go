//go:build e2e

package command

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel/push/pushtest"
	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/runtime/containertest"
	"github.com/longshore-bridge/longshore/internal/finding"
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
	health string       // the address of /healthz
	hooks  chan string  // the bodies that the operator's webhook gets
	ahead  atomic.Int64 // ns that Telegram's clock is ahead
	shared string       // the directory that the group has as /workspace/extra/docs
}

// sabotagedConfig has the assistant and the group's further keys.
const sabotagedConfig = `channels: {telegram: {token_file: bot, server: %q, rate: {per_minute: 60000, burst: 1000}}}
operator_page: {listen: "127.0.0.1:0"}
metrics: {listen: %q}
limits: {free_disk: 1MB}
notify: {after: 1s, webhook: {url: %q, secret: "${HOOK_SECRET}"}}
mounts: {allow: [{path: %q}]}
assistants: {helper: %s}
groups: [{name: Family, folder: family, chat: "tg:%d", assistant: helper, gather: {after: 0s}, mounts: [{name: docs, host: %q}]%s}]
%s
`

// newSabotaged runs the host. assistant is as longshore.yaml has it; programs are scripts
// on the host's PATH, by their names; size is of its file system, and 0: that of the
// machine's temporary files.
func newSabotaged(t *testing.T, s sabotage) *sabotaged {
	t.Helper()
	t.Setenv("HOOK_SECRET", pushtest.Secret())
	x := &sabotaged{t: t, srv: telegramtest.New(t, sabotagedChat, strangeChat), hooks: make(chan string, 64), page: &http.Client{}, health: stage.FreeAddress(t)}
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
		more := s.more
		if strings.Contains(more, "TAKEN") {
			taken, err := net.Listen("tcp", "127.0.0.1:0")
			stage.Must(t, err)
			t.Cleanup(func() { stage.Must(t, taken.Close()) })
			more = strings.Replace(more, "TAKEN", taken.Addr().String(), 1)
		}
		return fmt.Sprintf(sabotagedConfig, x.srv.URL, x.health, hook.URL, x.shared, s.assistant, sabotagedChat, x.shared, s.group, more)
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
	return strings.ReplaceAll(strings.Join(strings.Fields(out.String()), " "), "longshore -c "+finding.ShellWord(x.File)+" ", "longshore ")
}

// found are the findings that the operator's page gets.
func (x *sabotaged) found() []finding.Finding {
	x.t.Helper()
	req, err := http.NewRequestWithContext(x.t.Context(), http.MethodGet, x.pageAt+"/v1/overview", nil)
	stage.Must(x.t, err)
	req.Header.Set("Authorization", "Bearer "+x.key)
	resp, err := x.page.Do(req)
	stage.Must(x.t, err)
	defer resp.Body.Close()
	var o operator.Overview
	stage.Must(x.t, json.NewDecoder(resp.Body).Decode(&o))
	return o.Status.Findings
}

// told is what the page shows of them.
func (x *sabotaged) told() string {
	var all []string
	for _, f := range x.found() {
		all = append(all, f.Name+" of "+f.Part+": "+f.Cause+" to do: "+f.Remedy)
	}
	return strings.Join(all, "\n")
}

// raw is what the host answers at metrics.listen.
func (x *sabotaged) raw(path string) []byte {
	resp, err := http.Get("http://" + x.health + path)
	stage.Must(x.t, err)
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	stage.Must(x.t, err)
	return said
}

// monitored is raw without JSON's quotes.
func (x *sabotaged) monitored(path string) string {
	return strings.NewReplacer(`\"`, `"`, `\u003c`, "<").Replace(string(x.raw(path)))
}

// views are the warnings and faults of each view. A command that has no list has one finding with the text.
func (x *sabotaged) views() map[string][]finding.Finding {
	x.t.Helper()
	printed := func(list func(out []byte) ([]finding.Finding, error), args ...string) []finding.Finding {
		var out, failed bytes.Buffer
		Run(context.Background(), "", stage.AllPlatforms(), append([]string{"-c", x.File}, args...), nil, &out, &failed)
		all, err := list(out.Bytes())
		if err != nil {
			said := strings.ReplaceAll(strings.Join(strings.Fields(failed.String()), " "), "longshore -c "+finding.ShellWord(x.File)+" ", "longshore ")
			return []finding.Finding{{Cause: said, Severity: finding.Fault}}
		}
		return all
	}
	inside := func(out []byte) (all []finding.Finding, err error) {
		var holder struct{ Findings []finding.Finding }
		err = json.Unmarshal(out, &holder)
		return holder.Findings, err
	}
	health, err := inside(x.raw("/healthz"))
	stage.Must(x.t, err)
	all := map[string][]finding.Finding{"the page": x.found(), "/healthz": health, "status": printed(inside, "status", "--json")}
	all["doctor"] = printed(func(out []byte) (all []finding.Finding, err error) {
		err = json.Unmarshal(out, &all)
		return all, err
	}, "doctor", "--json")
	for view := range all {
		all[view] = finding.Wrong(all[view])
		for i := range all[view] {
			all[view][i].Since = time.Time{}
		}
	}
	return all
}

// alone waits until each view has one finding more than a host that is well: that one, in the same words.
func (x *sabotaged) alone(well map[string][]finding.Finding, id string) {
	x.t.Helper()
	for deadline := time.Now().Add(stage.Patience); ; {
		views := x.views()
		var one finding.Finding
		for _, f := range views["the page"] {
			if f.ID() == id {
				one = f
			}
		}
		wrong := ""
		for view, all := range views {
			all = slices.DeleteFunc(all, func(f finding.Finding) bool {
				return f.ID() != id && slices.ContainsFunc(well[view], func(w finding.Finding) bool { return w.ID() == f.ID() })
			})
			text := len(all) == 1 && all[0].Name == "" && strings.Contains(all[0].Cause, one.Cause) && strings.Contains(all[0].Cause, one.Remedy)
			if !text && (len(all) != 1 || all[0] != one) {
				wrong += fmt.Sprintf("\n%s: %+v", view, all)
			}
		}
		if wrong == "" {
			return
		}
		if time.Now().After(deadline) {
			x.t.Fatalf("%s is not the one finding everywhere: %s", id, wrong)
		}
	}
}

// sabotage is one thing that somebody broke, and the words that name it.
type sabotage struct {
	assistant string // as longshore.yaml has it
	claude    string // the script of that name on the host's PATH
	group     string // further keys of the group
	disk      string // options of a tmpfs below the state directory
	more      string // further lines of longshore.yaml; TAKEN is an address that another program has

	of  string // what `why` is asked for; empty: the group
	act func(x *sabotaged)

	finding string   // its name
	part    string   // its part
	words   []string // of its cause and its remedy, in every view
	free    bool     // it stops no group, and why need not name it
}

func sabotages() map[string]sabotage {
	const rejects = `echo '{"type":"result","is_error":true,"result":"Failed to authenticate. API Error: 401 invalid x-api-key"}'; exit 1`
	hello := func(x *sabotaged) { x.says(sabotagedChat, "hello?") }
	return map[string]sabotage{
		"key wrong": {
			assistant: "{agent: claude}", claude: rejects, act: hello,
			finding: "key_not_accepted", part: "assistant helper", words: []string{"assistant helper does not answer (key_not_accepted) in group family", "401", "give assistants.helper in longshore.yaml a key"},
		},
		"trigger forgotten": {
			group: `, trigger: "@Andy"`,
			act: func(x *sabotaged) {
				for range 3 {
					hello(x)
				}
			},
			finding: "never_called", part: "group family", words: []string{"3 messages, none of them with @Andy", "tell the members to write @Andy"},
		},
		"CLI missing": {
			assistant: "{agent: claude}", act: func(*sabotaged) {},
			finding: "not_installed", part: "assistant helper", words: []string{`"claude" of assistant "helper" was not found`, "install it, or put its full path"},
		},
		"image missing": {
			assistant: `{runtime: docker, agent: sample, image: "longshore-test/nowhere:here"}`, act: func(*sabotaged) {},
			finding: "image_missing", part: "assistant helper", words: []string{"longshore-test/nowhere:here", "build it: longshore image build --tag longshore-test/nowhere:here"},
		},
		"channel unlinked": {
			act: func(x *sabotaged) {
				x.srv.Always("getUpdates", telegramtest.Fault{Status: 401, Body: `{"ok":false,"error_code":401,"description":"Unauthorized"}`})
				hello(x)
			},
			finding: "channel_down", part: "channel telegram", words: []string{"channel telegram is not connected: Telegram does not accept the bot's token", "the token of channels.telegram"},
		},
		"chat not registered": {
			of: fmt.Sprint("tg:", strangeChat), act: func(x *sabotaged) { x.says(strangeChat, "hello?") },
			finding: "chat_not_registered", part: "channel telegram", words: []string{"tg:-1009", "longshore groups add tg:-1009"},
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
			finding: "not_accepting", part: "outbox", words: []string{"no delivery can be accepted", "make room on the file system of the state directory"},
		},
		"clock off by a day": {
			act:     func(x *sabotaged) { x.ahead.Store(int64(24 * time.Hour)); hello(x) },
			finding: "clock_off", part: "clock", words: []string{"behind the platforms'", "set the clock, and have it synchronized by NTP"},
		},
		"mount gone": {
			act:     func(x *sabotaged) { stage.Must(x.t, os.Rename(x.shared, x.shared+" of before")) },
			finding: "mount_missing", part: "group family, /workspace/extra/docs", words: []string{"which group family has as /workspace/extra/docs, is gone or another one", "put it back, or mount it again"},
		},
		"mount made anew": { // with the number that the old one had
			act: func(x *sabotaged) {
				stage.Must(x.t, os.Remove(x.shared))
				stage.Must(x.t, os.Mkdir(x.shared, 0o755))
			},
			finding: "mount_missing", part: "group family, /workspace/extra/docs", words: []string{"which group family has as /workspace/extra/docs, is gone or another one", "if another directory is meant to be there, restart the host"},
		},
		"workspace exchanged": {
			act: func(x *sabotaged) {
				own := x.Layout.Workspace("family")
				stage.Must(x.t, os.Rename(own, own+" of before"))
				stage.Must(x.t, os.Mkdir(own, 0o755))
			},
			finding: "mount_missing", part: "group family, /workspace/group", words: []string{"which group family has as /workspace/group, is gone or another one", "put it back, or mount it again"},
		},
		"blobs immutable": {
			act: func(x *sabotaged) {
				blobs := filepath.Join(x.Layout.Own(), "blobs")
				if out, err := exec.Command("chattr", "+i", blobs).CombinedOutput(); err != nil {
					need.Lacking(x.t, "make a directory immutable: %v: %s", err, out)
				}
				x.t.Cleanup(func() { stage.Must(x.t, exec.Command("chattr", "-i", blobs).Run()) })
			},
			finding: "state_unusable", part: "state, blobs", words: []string{"blobs cannot be read and written: operation not permitted", "chattr -i -a"},
		},
		"page damaged that nobody reads": {
			act:     func(x *sabotaged) { damagePage(x.t, filepath.Join(x.Layout.Own(), "longshore.db")) },
			finding: "store_damaged", part: "state", words: []string{"is damaged and cannot be read", "restore it from a backup"},
		},
		"database locked by another program": {
			act:     func(x *sabotaged) { lockElsewhere(x.t, filepath.Join(x.Layout.Own(), "longshore.db")) },
			finding: "store_locked", part: "state", words: []string{"which is no host, has locked the state's database", "only the host may change its database"},
		},
		"configuration broken on reload": {
			act: func(x *sabotaged) {
				text, err := os.ReadFile(x.File)
				stage.Must(x.t, err)
				x.Write(strings.Replace(string(text), "limits: {", "limits: [", 1))
				if r, err := x.Client.Reload(x.t.Context(), false); err != nil || len(r.Problems) == 0 {
					x.t.Errorf("reloaded: %+v, %v", r, err)
				}
			},
			finding: "config_refused", part: "configuration", words: []string{"since the last reload was refused", "expected , or ] here, since a [ above is open, in the line: notify: {", "close every [ and {"},
		},
		"configuration broken, no reload": {
			act: func(x *sabotaged) {
				text, err := os.ReadFile(x.File)
				stage.Must(x.t, err)
				x.Write(strings.Replace(string(text), "limits: {", "limits: [", 1))
			},
			finding: "config_invalid", part: "configuration", words: []string{"expected , or ] here, since a [ above is open, in the line: notify: {", "close every [ and {"},
		},
		"configuration deleted": {
			act:     func(x *sabotaged) { stage.Must(x.t, os.Remove(x.File)) },
			finding: "config_invalid", part: "configuration", words: []string{"no such file", "put the file back"},
		},
		"blobs deleted": {
			act:     func(x *sabotaged) { stage.Must(x.t, os.RemoveAll(filepath.Join(x.Layout.Own(), "blobs"))) },
			finding: "state_unusable", part: "state, blobs", words: []string{"blobs is gone", "put it back from a backup"}, free: true,
		},
		"address taken": {
			more: `remote: {listen: "TAKEN"}`, act: func(*sabotaged) {},
			finding: "listener_down", part: "remote", words: []string{"address already in use", "name another one in remote.listen"}, free: true,
		},
		"file in the place of the socket": {
			act: func(x *sabotaged) {
				path := filepath.Join(x.Layout.Own(), operator.SocketName)
				stage.Must(x.t, os.Remove(path))
				stage.Must(x.t, os.WriteFile(path, nil, 0o600))
			},
			finding: "state_unusable", part: "state, longshore.sock", words: []string{"longshore.sock is in the place of the control socket but is not a socket", "find out who made it, and move it away"},
		},
		"database overwritten": {
			act: func(x *sabotaged) {
				f, err := os.OpenFile(filepath.Join(x.Layout.Own(), "longshore.db"), os.O_WRONLY, 0)
				stage.Must(x.t, err)
				_, err = f.Write(bytes.Repeat([]byte("garbage "), 512))
				stage.Must(x.t, err)
				stage.Must(x.t, f.Close())
			},
			finding: "store_damaged", part: "state", words: []string{"is damaged and cannot be read", "restore it from a backup"},
		},
		"marker overwritten": {
			act: func(x *sabotaged) {
				stage.Must(x.t, os.WriteFile(filepath.Join(x.Layout.Own(), "state.marker"), []byte("garbage"), 0o600))
			},
			finding: "store_damaged", part: "state, marker of the state", words: []string{"the marker of the state", "delete the marker"},
		},
		"id overwritten": {
			act: func(x *sabotaged) {
				stage.Must(x.t, os.WriteFile(filepath.Join(x.Layout.Installation(), "id"), []byte("garbage"), 0o600))
			},
			finding: "store_damaged", part: "state, marker of the installation", words: []string{"the installation's id", "restore it from a backup"},
		},
		"secret open": {
			act:     func(x *sabotaged) { stage.Must(x.t, os.Chmod(filepath.Join(filepath.Dir(x.File), "bot"), 0o644)) },
			finding: "config_open", part: "configuration", words: []string{"others may read the secret in", "chmod 0600"}, free: true,
		},
		"file in the place of a directory": {
			act: func(x *sabotaged) {
				path := filepath.Join(x.Layout.Own(), "tmp")
				stage.Must(x.t, os.RemoveAll(path))
				stage.Must(x.t, os.WriteFile(path, nil, 0o600))
			},
			finding: "state_unusable", part: "state, tmp", words: []string{"tmp in the state directory is not a directory", "find out who replaced it, and move it away"},
		},
		"end of the trail cut off": {
			act: func(x *sabotaged) {
				hello(x)
				x.Until("an entry of the trail", func() bool {
					all, _ := filepath.Glob(filepath.Join(x.Layout.Audit(), "*.jsonl"))
					return len(all) == 1 && os.Truncate(all[0], 100) == nil
				})
			},
			finding: "audit_broken", part: "audit trail", words: []string{"another program has cut it off", "look at that line in"}, free: true,
		},
		"trail deleted": {
			act: func(x *sabotaged) {
				hello(x)
				x.Until("an entry of the trail", func() bool {
					all, _ := filepath.Glob(filepath.Join(x.Layout.Audit(), "*.jsonl"))
					return len(all) == 1
				})
				stage.Must(x.t, os.RemoveAll(x.Layout.Audit()))
			},
			finding: "audit_broken", part: "audit trail", words: []string{"files of the audit trail in", "put them back from a backup"}, free: true,
		},
		"installation deleted": {
			act:     func(x *sabotaged) { stage.Must(x.t, os.RemoveAll(x.Layout.Installation())) },
			finding: "state_gone", part: "state", words: []string{"deleted or replaced while the host runs: installation/id", "put it back, or restart the host, which writes it again"},
		},
		"lock deleted": {
			act:     func(x *sabotaged) { stage.Must(x.t, os.Remove(filepath.Join(x.Layout.Own(), "longshore.lock"))) },
			finding: "state_gone", part: "state", words: []string{"deleted or replaced while the host runs: longshore.lock", "put them back"},
		},
	}
}

// damagePage overwrites a page of a state that no host reads while it idles.
func damagePage(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	stage.Must(t, err)
	var page int64
	stage.Must(t, db.QueryRow(`SELECT rootpage FROM sqlite_master WHERE name = 'blob_place'`).Scan(&page))
	_, err = db.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	stage.Must(t, err)
	stage.Must(t, db.Close())
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	stage.Must(t, err)
	_, err = f.WriteAt(bytes.Repeat([]byte{0xff}, 64), (page-1)*4096)
	stage.Must(t, err)
	stage.Must(t, f.Close())
}

// lockEnv has this program lock a database until its input ends.
const lockEnv = "LONGSHORE_TEST_LOCKS"

func lockElsewhere(t *testing.T, path string) {
	t.Helper()
	other := exec.Command("/proc/self/exe", "-test.run=^TestALockElsewhere$") // the test's context ends before the host does
	other.Env = append(os.Environ(), lockEnv+"="+path)
	in, err := other.StdinPipe()
	stage.Must(t, err)
	out, err := other.StdoutPipe()
	stage.Must(t, err)
	stage.Must(t, other.Start())
	t.Cleanup(func() { stage.Must(t, in.Close()); stage.Must(t, other.Wait()) })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("%q, %v", line, err)
	}
}

// TestALockElsewhere is the other program of lockElsewhere.
func TestALockElsewhere(t *testing.T) {
	path := os.Getenv(lockEnv)
	if path == "" {
		return
	}
	db, err := sql.Open("sqlite", path)
	stage.Must(t, err)
	_, err = db.Exec("BEGIN IMMEDIATE")
	stage.Must(t, err)
	fmt.Println("locked")
	_, err = io.Copy(io.Discard, os.Stdin)
	stage.Must(t, err)
	stage.Must(t, db.Close())
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestTwelveSabotagesAreNamedAlikeWhereverAnOperatorLooks: by doctor, why and status, on the
// operator's page, by /healthz, /readyz and the metrics, and by a notification, each with the cause and what to do.
func TestTwelveSabotagesAreNamedAlikeWhereverAnOperatorLooks(t *testing.T) {
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
			well := x.views()
			for _, f := range well["the page"] {
				if f.Name == s.finding && name != "CLI missing" && name != "image missing" && s.more == "" {
					t.Fatalf("a host that is well: %+v", f)
				}
			}
			s.act(x)
			x.names("the page", append(s.words, s.finding+" of "+s.part), x.told)
			x.names("status", s.words, func() string { return x.asked("status") })
			x.names("doctor", s.words, func() string { return x.asked("doctor") })
			if !s.free {
				x.names("why", s.words[len(s.words)-1:], func() string { return x.asked("why", of) })
			}
			x.names("/healthz", append(s.words, `"status":"ok"`), func() string { return x.monitored("/healthz") })
			x.names("/readyz", s.words, func() string { return x.monitored("/readyz") })
			x.names("the metrics", []string{fmt.Sprintf(`longshore_finding{name="%s",part="%s"} 1`, s.finding, s.part)}, func() string { return x.monitored("/metrics") })
			var told string
			x.names("the notification", s.words, func() string {
				select {
				case body := <-x.hooks:
					told += strings.ReplaceAll(body, `\"`, `"`)
				default:
				}
				return told
			})
			x.alone(well, s.finding+" of "+s.part)
		})
	}
}

// TestTwelveSabotagesOfAStoppedHostAreNamedAlike by doctor and status.
func TestTwelveSabotagesOfAStoppedHostAreNamedAlike(t *testing.T) {
	for name, s := range map[string]struct {
		more  string // of longshore.yaml
		act   func(t *testing.T, l groups.Layout, file string)
		words []string
	}{
		"CLI missing":          {more: "assistants: {helper: {agent: claude}}\n", words: []string{`"claude" of assistant "helper" was not found`, "install it, or put its full path"}},
		"engine away":          {more: `assistants: {helper: {runtime: docker, agent: sample, image: "x:y"}}` + "\n", words: []string{"the container engine does not answer", "nowhere.sock"}},
		"disk full":            {more: "limits: {free_disk: 1000TiB}\n", words: []string{"limits.free_disk is 1000 TiB: nothing new is accepted", "make room on the file system"}},
		"address taken":        {more: "metrics: {listen: \"LISTEN\"}\n", words: []string{"address already in use", "name another one in metrics.listen"}},
		"page's address taken": {more: "operator_page: {listen: \"LISTEN\"}\n", words: []string{"address already in use", "name another one in operator_page.listen"}},
		"chat's address taken": {more: "channels: {web: {listen: \"LISTEN\"}}\n", words: []string{"address already in use", "name another one in channels.web.listen"}},
		"mount gone":           {more: "mounts: {allow: [{path: /srv}]}\n", words: []string{`"/srv/longshore-is-not-there" is no directory`, "make it or mount it, or correct the path"}},
		"state open":           {act: func(t *testing.T, l groups.Layout, _ string) { stage.Must(t, os.Chmod(l.State, 0o777)) }, words: []string{"others may write to the state directory", "chmod go-w"}},
		"logs open":            {act: func(t *testing.T, l groups.Layout, _ string) { stage.Must(t, os.Chmod(l.Logs(), 0o755)) }, words: []string{"logs is open to other users", "chmod 0700"}},
		"file open":            {act: func(t *testing.T, _ groups.Layout, file string) { stage.Must(t, os.Chmod(file, 0o666)) }, words: []string{"others may write to the configuration", "chmod go-w"}},
		"trail deleted": {act: func(t *testing.T, l groups.Layout, _ string) {
			stage.Must(t, os.MkdirAll(l.Installation(), 0o700))
			stage.Must(t, os.WriteFile(l.AuditMark(), []byte("1\n"), 0o600))
			stage.Must(t, os.RemoveAll(l.Audit()))
		}, words: []string{"files of the audit trail in", "put them back from a backup"}},
		"queue is a link": {act: func(t *testing.T, l groups.Layout, _ string) {
			stage.Must(t, os.RemoveAll(l.IPC("family", "messages")))
			stage.Must(t, os.Symlink("/tmp", l.IPC("family", "messages")))
		}, words: []string{"ipc/family/messages", "where the assistant of group"}},
		"line broken": {more: "limits: [free_disk: 1MB\n", words: []string{"expected , or ] here, since a [ above is open", "channels: {", "close every [ and {"}},
	} {
		t.Run(name, func(t *testing.T) {
			taken, err := net.Listen("tcp", "127.0.0.1:0")
			stage.Must(t, err)
			defer taken.Close()
			t.Setenv("PATH", "/usr/bin:/bin")
			t.Setenv("DOCKER_HOST", "unix:///nowhere.sock")
			dir := t.TempDir()
			file, l := filepath.Join(dir, "longshore.yaml"), groups.Layout{State: filepath.Join(dir, "state")}
			stage.Must(t, l.Prepare([]groups.Group{{Folder: "family"}}))
			assistant, mounts := "", ""
			if strings.Contains(s.more, "assistants") {
				assistant = ", assistant: helper"
			}
			if strings.Contains(s.more, "mounts") {
				mounts = ", mounts: [{name: docs, host: /srv/longshore-is-not-there}]"
			}
			channels := "channels: {web: {listen: \"127.0.0.1:0\"}}\n"
			if strings.Contains(s.more, "channels:") {
				channels = ""
			}
			text := strings.Replace(s.more, "LISTEN", taken.Addr().String(), 1) + channels + "groups: [{folder: family, chat: \"web:family\"" + assistant + mounts + "}]\n"
			stage.Must(t, os.WriteFile(file, []byte(text), 0o600))
			if s.act != nil {
				s.act(t, l, file)
			}
			x := &sabotaged{t: t, Changing: &stage.Changing{File: file}}
			for _, args := range []string{"doctor", "status"} {
				said := x.asked(args)
				for _, w := range s.words {
					if !strings.Contains(said, w) {
						t.Errorf("%s lacks %q:\n%s", args, w, said)
					}
				}
			}
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

// TestAGroupWithoutItsMountAnsweredWithoutTheFiles, and waited for minutes when the mount was back: the chat
// hears that the message is kept, and is answered as soon as the directory is there again.
func TestAGroupWithoutItsMountAnsweredWithoutTheFiles(t *testing.T) {
	x := newSabotaged(t, sabotage{})
	x.says(sabotagedChat, "hello?")
	said := len(x.srv.WaitFor(t, sabotagedChat, 1)) // the assistant runs on after its answer
	stage.Must(t, os.Rename(x.shared, x.shared+" of before"))
	x.names("the page", []string{"mount_missing"}, x.told)
	x.says(sabotagedChat, "hello again?")
	all := x.srv.WaitFor(t, sabotagedChat, said+1)
	if last := all[len(all)-1].Text; len(all) != said+1 || !strings.Contains(last, "Your message is kept") {
		t.Fatalf("the chat reads %+v", all)
	}
	stage.Must(t, os.Rename(x.shared+" of before", x.shared))
	x.Until("nothing is wrong any more", func() bool { return x.told() == "" })
	x.srv.WaitFor(t, sabotagedChat, said+2)
}
