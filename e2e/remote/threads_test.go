package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/push/pushtest"
	"github.com/longshore-bridge/longshore/host/operator"
)

// desk is a host in a process of its own with a receiver whose chat has threads.
type desk struct {
	t        *testing.T
	dir      string
	listen   string
	receiver *pushtest.Receiver
	host     *exec.Cmd
	posted   int
	env      []string
}

func newDesk(t *testing.T, group string) *desk {
	t.Helper()
	return newDeskOf(t, group, "{runtime: process, agent: command, command: [./talker.sh]}", os.Args[0])
}

// newDeskOf is newDesk with an assistant as the configuration has it, and how it
// calls longshore.
func newDeskOf(t *testing.T, group, assistant, longshore string, env ...string) *desk {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, dir: dir, env: env}
	secret := pushtest.Secret()
	d.receiver = pushtest.New(t, secret, "push:desk")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.listen = l.Addr().String()
	script := filepath.Join(d.dir, "talker.sh")
	err = errors.Join(l.Close(),
		os.WriteFile(filepath.Join(d.dir, "secret"), []byte(secret), 0o600),
		os.WriteFile(script, []byte(strings.ReplaceAll(stage.Talker, "$LONGSHORE", longshore)), 0o755),
		os.WriteFile(filepath.Join(d.dir, "longshore.yaml"), fmt.Appendf(nil, `state: ./state
channels: {push: {url: %q, secret_file: ./secret, listen: %q}}
limits: {rate: {per_minute: 100000, burst: 10000}, pending: 10000}
assistants: {talker: %s}
groups: [{folder: desk, chat: "push:desk", assistant: talker, gather: {after: 0s}%s}]
`, d.receiver.URL, d.listen, assistant, group), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	d.start()
	return d
}

// start starts the host; it ends with the test, if it still runs.
func (d *desk) start() {
	d.t.Helper()
	d.host = exec.Command(os.Args[0], "serve", "--config", filepath.Join(d.dir, "longshore.yaml"))
	d.host.Env = append(os.Environ(), stage.ServeEnv+"=1")
	d.host.Env = append(d.host.Env, d.env...)
	var log strings.Builder
	d.host.Stderr = &log
	if err := d.host.Start(); err != nil {
		d.t.Fatal(err)
	}
	cmd := d.host
	d.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if d.t.Failed() {
			d.t.Logf("the host says:\n%s", log.String())
		}
	})
	client := operator.NewClient(filepath.Join(d.dir, "state"))
	stage.Eventually(d.t, "the host runs", func() bool { _, err := client.Status(d.t.Context()); return err == nil })
}

// kill kills the host, not what it has started.
func (d *desk) kill() {
	d.t.Helper()
	_ = d.host.Process.Kill()
	_ = d.host.Wait()
}

// post is a member who writes in a thread, until the host takes it.
func (d *desk) post(thread, text string) {
	d.t.Helper()
	d.posted++
	reply := pushtest.Reply{Type: "message", Chat: "push:desk", ID: fmt.Sprint("m", d.posted), Thread: thread, From: "Ann", Text: text, Direct: true}
	stage.Eventually(d.t, "the host takes a message", func() bool {
		ctx, cancel := context.WithTimeout(d.t.Context(), 10*time.Second)
		defer cancel()
		return d.receiver.Post(ctx, "http://"+d.listen+"/", reply) == nil
	})
}

// wants waits until each thread has seen all that was made in it, and fails the
// test if a thread sees something of another one.
func (d *desk) wants(made map[string]string) {
	d.t.Helper()
	want := map[string]map[string]bool{}
	for thread, what := range made {
		want[thread] = map[string]bool{what: true, what + " by message": true, what + "-tool.txt": true, what + "-drop.txt": true, what + "-media.txt": true}
	}
	var got map[string]map[string]bool
	stage.Eventually(d.t, "all threads have seen everything", func() bool {
		got = map[string]map[string]bool{}
		for _, m := range d.receiver.Shown(d.t, "push:desk", 0) {
			if got[m.Thread] == nil {
				got[m.Thread] = map[string]bool{}
			}
			if m.Text != "" && !strings.HasPrefix(m.Text, "The assistant ") && !strings.HasPrefix(m.Text, "This thread ") {
				got[m.Thread][m.Text] = true
			}
			for _, f := range m.Files {
				got[m.Thread][f.Name] = true
			}
		}
		n := 0
		for _, seen := range got {
			n += len(seen)
		}
		return n >= 5*len(made)
	})
	if diff := cmp.Diff(want, got); diff != "" {
		d.t.Errorf("what the threads see (-want +got):\n%s", diff)
	}
}

// TestTwoThreadsOfAChatNeverMixOnTheWholeRoad, whichever way the assistant sends,
// and whether or not the host is killed in the middle.
func TestTwoThreadsOfAChatNeverMixOnTheWholeRoad(t *testing.T) {
	d := newDesk(t, "")
	d.post("t1", "make cats, and wait for it")
	d.post("t2", "make dogs")
	d.post("", "make rain")
	tried := func(times int) func() bool {
		return func() bool {
			said, _ := os.ReadFile(filepath.Join(d.dir, "state/groups/desk/started")) // nothing before the first turn
			return strings.Count(string(said), "cats") == times
		}
	}
	stage.Eventually(t, "the first turn is under way", tried(1))
	d.kill()
	d.start()
	stage.Eventually(t, "the first turn is tried again", tried(2))
	if err := os.WriteFile(filepath.Join(d.dir, "state/groups/desk/go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	d.wants(map[string]string{"t1": "cats", "t2": "dogs", "": "rain"})
}

// TestAFlatChatSeesEverythingInTheChatItself.
func TestAFlatChatSeesEverythingInTheChatItself(t *testing.T) {
	d := newDesk(t, ", threads: flat")
	d.post("t1", "make cats")
	d.wants(map[string]string{"": "cats"})
}
