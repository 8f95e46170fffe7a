package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/push"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/runtime/containertest"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// fileHost is a host whose file a test changes.
type fileHost struct {
	*Host
	t    *testing.T
	file string
}

// writeFile makes the configuration text.
func (f *fileHost) writeFile(text string) {
	f.t.Helper()
	if err := os.WriteFile(f.file, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// Load implements File.
func (f *fileHost) Load(registered []groups.Group) (*config.Config, []*config.Problem, error) {
	cfg, err := config.Load(f.file, []channel.Platform{web.Platform(), push.Platform()}, registered...)
	return cfg, nil, err
}

// runHost runs a host of text until the test ends. DIR in text is a directory of the test's.
func runHost(t *testing.T, dir, text string) *fileHost {
	t.Helper()
	t.Setenv("SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	f := &fileHost{t: t, file: filepath.Join(dir, "longshore.yaml")}
	f.writeFile(text)
	cfg, _, err := f.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	if f.Host, err = New(t.Context(), cfg, Options{Log: slog.New(slog.NewTextHandler(io.Discard, nil)), File: f, Getenv: func(string) string { return "" }}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the host ended: %v", err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// wrong returns what is wrong with the host.
func (f *fileHost) wrong() []finding.Finding {
	f.t.Helper()
	all, err := f.local.Findings(f.t.Context(), false)
	if err != nil {
		f.t.Fatal(err)
	}
	return slices.DeleteFunc(finding.Wrong(all), func(one finding.Finding) bool {
		return !slices.Contains([]string{finding.Listener, finding.Channel, string(cause.Setup), string(cause.Directory)}, one.Name) // the machine of a test has others
	})
}

// fault returns the finding whose text has word; nil if there is none.
func (f *fileHost) fault(word string) *finding.Finding {
	for _, one := range f.wrong() {
		if strings.Contains(one.Cause, word) {
			return &one
		}
	}
	return nil
}

// until waits until ok.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// listens returns the addresses at which a configuration has the host listen, by their keys.
func listens(cfg *config.Config) map[string]string {
	all := map[string]string{}
	of := reflect.ValueOf(*cfg)
	for i := range of.NumField() {
		if part := of.Field(i); part.Kind() == reflect.Struct && part.FieldByName("Listen").IsValid() {
			all[of.Type().Field(i).Tag.Get("yaml")] = part.FieldByName("Listen").String()
		}
	}
	for _, c := range cfg.Channels {
		if s, ok := c.Settings.(channel.ListenSettings); ok {
			all[c.Name] = s.ListensAt()
		}
	}
	return all
}

// An address that another program had ended the host, and all its chats.
func TestEachPartThatListensFindsItsAddressTaken(t *testing.T) {
	text := func(taken, address string) string {
		at := func(key string) string {
			if key == taken {
				return address
			}
			return "127.0.0.1:0"
		}
		return fmt.Sprintf(`
state: ./state
channels: {web: {listen: %q}, push: {url: "http://127.0.0.1:1", listen: %q, secret: "${SECRET}"}}
remote: {listen: %q}
metrics: {listen: %q}
operator_page: {listen: %q}
assistants: {far: {runtime: remote}}
groups:
- {folder: family, chat: "web:family", assistant: far}
`, at("web"), at("push"), at("remote"), at("metrics"), at("operator_page"))
	}
	dir := t.TempDir()
	all := runHost(t, dir, text("", ""))
	keys := listens(all.Config())
	if len(keys) != 5 {
		t.Fatalf("%v listen: give each of them an address above", keys)
	}
	until(t, "a healthy host has faults", func() bool { return len(all.wrong()) == 0 })
	for key := range keys {
		t.Run(key, func(t *testing.T) {
			other, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			address := other.Addr().String()
			h := runHost(t, t.TempDir(), text(key, address))
			until(t, "nobody says that the address is taken", func() bool { return h.fault(address) != nil })
			if f := h.fault(address); f.Remedy == "" || !strings.Contains(f.Part, key) {
				t.Errorf("the fault is %+v", f)
			}
			until(t, "something else is down, too", func() bool { return len(h.wrong()) == 1 })
			if answer, err := h.Reload(t.Context(), false); err != nil || len(answer.Problems) > 0 {
				t.Errorf("a reload: %v, %v", answer.Problems, err)
			}
			other.Close()
			until(t, "it does not come up by itself", func() bool { return len(h.wrong()) == 0 })
			if again, err := net.Listen("tcp", address); err == nil {
				again.Close()
				t.Error("it says that it is up, and does not listen")
			}
		})
	}
}

// What one group or channel needs and this machine lacks refused the start, and each reload.
func TestWhatAPartLacksKeepsThatPartDown(t *testing.T) {
	const plain = `
state: ./state
channels: {web: {listen: "127.0.0.1:0"}}
mounts: {allow: [{path: ./shared}]}
assistants: {a: {}, b: {}}
groups:
- {folder: family, chat: "web:family", assistant: a}
- {folder: dock, chat: "web:dock", assistant: b}
`
	group := func(s string) string { return strings.Replace(plain, "assistant: b}", "assistant: b, "+s+"}", 1) }
	assistant := func(s string) string { return strings.Replace(plain, "b: {}", "b: {"+s+"}", 1) }
	mount := group("mounts: [{name: x, host: ./shared/x}]")
	for name, one := range map[string]struct {
		text, part string
		prepare    func(dir string) error
		mend       func(dir string) error
	}{
		"a mount that is missing": {
			text: mount, part: "group dock",
			mend: func(dir string) error { return os.MkdirAll(filepath.Join(dir, "shared/x"), 0o755) },
		},
		"a mount that is a link out of what is allowed": {
			text: mount, part: "group dock",
			prepare: func(dir string) error {
				return os.Symlink(filepath.Join(dir, ".."), filepath.Join(dir, "shared/x"))
			},
			mend: func(dir string) error {
				x := filepath.Join(dir, "shared/x")
				if err := os.Remove(x); err != nil {
					return err
				}
				return os.Mkdir(x, 0o755)
			},
		},
		"a secret's file": {
			text: assistant("env_from_file: {K: ./secret}"), part: "assistant b",
			mend: func(dir string) error {
				return os.WriteFile(filepath.Join(dir, "secret"), []byte("s3cret-of-16-and-more"), 0o600)
			},
		},
		"the keys of an account over ssh": {
			text: assistant("runtime: ssh, ssh: {host: far, user: u, key: ./key, known_hosts: ./key}"), part: "assistant b",
			mend: func(dir string) error { return os.WriteFile(filepath.Join(dir, "key"), nil, 0o600) },
		},
		"a file in the place of a group's workspace": {
			text: plain, part: "group dock",
			prepare: func(dir string) error { return os.WriteFile(filepath.Join(dir, "state/groups/dock"), nil, 0o600) },
			mend:    func(dir string) error { return os.Remove(filepath.Join(dir, "state/groups/dock")) },
		},
		"a file in the place of a group's queue": {
			text: plain, part: "group dock",
			prepare: func(dir string) error { return os.WriteFile(filepath.Join(dir, "state/ipc/dock"), nil, 0o600) },
			mend:    func(dir string) error { return os.Remove(filepath.Join(dir, "state/ipc/dock")) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, made := range []string{"shared", "state/groups", "state/ipc"} {
				if err := os.MkdirAll(filepath.Join(dir, made), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if one.prepare != nil {
				if err := one.prepare(dir); err != nil {
					t.Fatal(err)
				}
			}
			h := runHost(t, dir, one.text)
			planned := func(folder string) error {
				g, ok := h.Registry().ByFolder(folder)
				if !ok {
					t.Fatalf("group %s is not served", folder)
				}
				_, err := h.Plan(g)
				return err
			}
			if f, down := h.down.Of(one.part); !down || f.Cause == "" || f.Remedy == "" {
				t.Errorf("%s: %+v", one.part, f)
			}
			if err := planned("dock"); !cause.Of(err).Permanent() {
				t.Errorf("the assistant that is down would be started, with %v", err)
			}
			if err := planned("family"); err != nil {
				t.Errorf("the other one is down: %v", err)
			}
			dock, _ := h.Registry().ByFolder("dock")
			if len(dock.Mounts) > 0 {
				t.Errorf("what is in the mount can be sent: %v", dock.Mounts)
			}
			if answer, err := h.Reload(t.Context(), false); err != nil || len(answer.Problems) > 0 {
				t.Errorf("a reload: %v, %v", answer.Problems, err)
			}
			if err := one.mend(dir); err != nil {
				t.Fatal(err)
			}
			if answer, err := h.Reload(t.Context(), false); err != nil || len(answer.Problems) > 0 {
				t.Errorf("a reload: %v, %v", answer.Problems, err)
			}
			if err := planned("dock"); err != nil {
				t.Errorf("after its remedy, %v", err)
			}
		})
	}
}

// A group whose mount is forbidden is not served without the rule, and no reload brings one.
func TestAReloadBringsNoForbiddenMount(t *testing.T) {
	dir := t.TempDir()
	const text = `
state: ./state
channels: {web: {listen: "127.0.0.1:0"}}
mounts: {allow: [{path: ./shared}]}
assistants: {a: {}}
groups:
- {folder: dock, chat: "web:dock", assistant: a, mounts: [{name: x, host: ./shared}]}
`
	for _, made := range []string{"shared", "closed"} {
		if err := os.Mkdir(filepath.Join(dir, made), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h := runHost(t, dir, text)
	for _, forbidden := range []string{
		strings.Replace(text, "host: ./shared", "host: ./closed", 1),
		strings.Replace(text, "host: ./shared", "host: ./shared, write: true", 1),
	} {
		h.writeFile(forbidden)
		answer, err := h.Reload(t.Context(), false)
		if err != nil || len(answer.Problems) != 1 {
			t.Errorf("%v, %v", answer.Problems, err)
		}
		if _, down := h.down.Of("group dock"); down {
			t.Error("a file that was refused took the group down")
		}
	}
}

// The last part that was down at the start came up by a reload alone: what is lacking now was compared with what was
// lacking when a look was refused, and both were nothing.
func TestAGroupStayedDownWhenItsLastMountWasThereAgain(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "shared"), 0o755); err != nil {
		t.Fatal(err)
	}
	h := runHost(t, dir, `
state: ./state
channels: {web: {listen: "127.0.0.1:0"}}
mounts: {allow: [{path: ./shared}]}
assistants: {a: {}}
groups:
- {folder: pier, chat: "web:pier", assistant: a, mounts: [{name: y, host: ./shared/y}]}
`)
	d := &directories{h: h.Host}
	if _, down := h.down.Of("group pier"); !down {
		t.Fatal("the group is not down")
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "shared/y"), 0o755), d.recheck(t.Context())); err != nil {
		t.Fatal(err)
	}
	if why, down := h.down.Of("group pier"); down {
		t.Errorf("the group is down: %v", why)
	}
}

// A member's assistant that made a forbidden mount of another group's directory, while something was down,
// made the host refuse its own file every 15 seconds, each time with a line of the log.
func TestAMountThatBecameForbiddenIsRefusedOnce(t *testing.T) {
	dir := t.TempDir()
	x := filepath.Join(dir, "shared/x")
	if err := os.MkdirAll(x, 0o755); err != nil {
		t.Fatal(err)
	}
	h := runHost(t, dir, `
state: ./state
channels: {web: {listen: "127.0.0.1:0"}}
mounts: {allow: [{path: ./shared}]}
assistants: {a: {}}
groups:
- {folder: dock, chat: "web:dock", assistant: a, mounts: [{name: x, host: ./shared/x}]}
- {folder: pier, chat: "web:pier", assistant: a, mounts: [{name: y, host: ./shared/y}]}
`)
	d := &directories{h: h.Host}
	look := func(refused int, down bool) {
		t.Helper()
		for range 3 {
			if err := d.recheck(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		n := 0
		for _, line := range h.recent.Lines(operator.LogQuery{}).Lines {
			n += strings.Count(line.Message, "configuration refused")
		}
		if n != refused {
			t.Errorf("%d lines say that it was refused, want %d", n, refused)
		}
		if _, is := h.down.Of("group pier"); is != down {
			t.Errorf("the group pier is down: %v", is)
		}
		if m := h.Now().Config.Groups[0].Mounts; len(m) != 1 || m[0].Host != x {
			t.Errorf("the group dock has %v", m)
		}
	}
	look(0, true)
	if err := errors.Join(os.Remove(x), os.Symlink(dir, x)); err != nil {
		t.Fatal(err)
	}
	look(1, true)
	if err := errors.Join(os.Remove(x), os.Mkdir(x, 0o755), os.Mkdir(filepath.Join(dir, "shared/y"), 0o755)); err != nil {
		t.Fatal(err)
	}
	look(1, false)
}

// The token of a channel could change at a start only, and one that was missing refused the start.
func TestAChannelComesWithItsToken(t *testing.T) {
	dir := t.TempDir()
	h := runHost(t, dir, `
state: ./state
channels: {web: {listen: "127.0.0.1:0", token_file: ./token}, push: {url: "http://127.0.0.1:1", listen: "127.0.0.1:0", secret: "${SECRET}"}}
groups: [{folder: dock, chat: "web:dock"}]
`)
	page := func() channel.Channel { return channel.Named(h.Channels, "web") }
	if _, served := page().(*web.Web); served {
		t.Fatal("the page is served without its token")
	}
	until(t, "the fault does not name the file", func() bool { return h.fault("the file cannot be read") != nil })
	if _, err := page().Send(t.Context(), channel.Message{Chat: "web:dock"}); channel.ClassOf(err) != channel.Held {
		t.Errorf("a send: %v", err)
	}
	for _, token := range []string{"0123456789abcdef-1", "0123456789abcdef-2"} {
		if err := os.WriteFile(filepath.Join(dir, "token"), []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		if answer, err := h.Reload(t.Context(), false); err != nil || len(answer.Problems) > 0 {
			t.Fatalf("%v, %v", answer.Problems, err)
		}
		until(t, "the page is not served", func() bool { w, made := page().(*web.Web); return made && connected(w) })
		if got := h.madeOf["web"].Settings.(*web.Settings).Token.Reveal(); got != token {
			t.Errorf("the page has the token %q", got)
		}
	}
}

// A reload that made a channel anew while that was down ended the host.
func TestAReloadChangesAChannelThatIsDown(t *testing.T) {
	const text = `
state: ./state
channels: {web: {listen: "127.0.0.1:0", token_file: ./token}}
groups: [{folder: dock, chat: "web:dock"}]
`
	dir := t.TempDir()
	h := runHost(t, dir, text)
	until(t, "the fault does not name the file", func() bool { return h.fault("the file cannot be read") != nil })
	h.writeFile(strings.Replace(text, "./token", "./other", 1))
	if err := os.WriteFile(filepath.Join(dir, "other"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if answer, err := h.Reload(t.Context(), false); err != nil || len(answer.Problems) > 0 {
		t.Fatalf("%v, %v", answer.Problems, err)
	}
	h.writeFile(strings.Replace(text, "127.0.0.1:0", "localhost:0", 1))
	if answer, err := h.Reload(t.Context(), false); err != nil || len(answer.Problems) > 0 {
		t.Fatalf("%v, %v", answer.Problems, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("0123456789abcdef-1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if answer, err := h.Reload(t.Context(), false); err != nil || len(answer.Problems) > 0 {
		t.Fatalf("%v, %v", answer.Problems, err)
	}
	until(t, "the page is not served", func() bool {
		w, made := channel.Named(h.Channels, "web").(*web.Web)
		return made && connected(w)
	})
}

// A look at the groups of before a reload called a group up that the reload had found down: its assistant
// was started in a directory that is not its own.
func TestAReloadFindsAGroupDownWhileTheHostLooks(t *testing.T) {
	dir := t.TempDir()
	const text = `
state: ./state
channels: {web: {listen: "127.0.0.1:0"}}
assistants: {a: {}}
groups:
- {folder: pier, chat: "web:pier", assistant: a}
`
	h := runHost(t, dir, text)
	if err := os.WriteFile(filepath.Join(dir, "state/groups/dock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d, ctx := &directories{h: h.Host}, t.Context()
	done := make(chan struct{})
	var looking sync.WaitGroup
	looking.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				d.lookAtGroups()
			}
		}
	})
	defer looking.Wait()
	defer close(done)
	for range 40 {
		for _, more := range []string{"", `- {folder: dock, chat: "web:dock", assistant: a}`} {
			h.writeFile(text + more)
			if answer, err := h.Reload(ctx, true); err != nil || len(answer.Problems) > 0 {
				t.Fatalf("%v, %v", answer.Problems, err)
			}
		}
		if _, down := h.down.Of("group dock"); !down {
			t.Fatal("the group is called up")
		}
	}
}

// A main group whose project, and with it the shadow of .env, cannot be mounted is down, alone.
func TestAGroupWithoutItsShadowIsDown(t *testing.T) {
	t.Setenv("DOCKER_HOST", containertest.Podman(t, "no container is made here"))
	h := newHost(t, `
state: ./state
project: ./project
channels: {web: {listen: "127.0.0.1:0"}}
assistants: {box: {runtime: docker}}
groups:
- {folder: ops, chat: "web:ops", main: true, assistant: box}
- {folder: dock, chat: "web:dock", assistant: box}
`, false)
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := os.WriteFile(h.Layout.Project, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	down := func(folder string) string {
		g, _ := h.Registry().ByFolder(folder)
		_, err := h.Plan(g)
		if err != nil && cause.Of(err) != cause.Directory {
			t.Errorf("group %s: %v", folder, err)
		}
		return fmt.Sprint(err)
	}
	if len(h.engines.Answering([]string{""})) != 1 {
		t.Fatal("the engine does not answer")
	}
	for _, dir := range []string{h.Layout.Workspace("ops"), h.Layout.Workspace("dock")} {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	h.checkGroups(h.Config(), h.Registry())
	if why := down("ops"); !strings.Contains(why, "/workspace/project/.env") {
		t.Errorf("the main group: %s", why)
	}
	if f, is := h.down.Of("group dock"); is {
		t.Errorf("the other group: %v", f)
	}
	if err := os.Remove(h.Layout.Project); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(h.Layout.Project, 0o755); err != nil {
		t.Fatal(err)
	}
	h.checkGroups(h.Config(), h.Registry())
	if why := down("ops"); why != "<nil>" {
		t.Errorf("after its remedy: %s", why)
	}
}

// An assistant answered from an empty workspace, after another directory had taken the place of its own.
func TestAWorkspaceThatWasExchangedWasUsed(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, everything, false)
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	i := slices.IndexFunc(h.parts, func(p Part) bool { _, ok := p.(*directories); return ok })
	d := h.parts[i].(*directories)
	own, away := h.Layout.Workspace("family"), filepath.Join(dir, "away")
	look := func() bool {
		d.lookAtGroups()
		d.checkMounts(t.Context())
		f, down := h.down.Of("group family")
		return down && f.Name == string(cause.Mount) && f.Part == "group family, /workspace/group"
	}
	for _, step := range []struct {
		do   func() error
		down bool
	}{
		{func() error { return nil }, false},
		{func() error { return os.Rename(own, away) }, true},
		{func() error { return nil }, true}, // and it is not made anew
		{func() error { return os.Mkdir(own, 0o755) }, true},
		{func() error { return os.Remove(own) }, true},
		{func() error { return os.Rename(away, own) }, false},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if down := look(); down != step.down {
			t.Errorf("down: %v, want %v", down, step.down)
		}
	}
}
