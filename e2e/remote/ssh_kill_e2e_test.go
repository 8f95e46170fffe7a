//go:build e2e

package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
)

// overKilled is a host whose far assistant sends the file that its directory names, over a
// line on which a step can be watched.
type overKilled struct {
	*overSSH
	sent map[string]string // names of all files so far, and what each holds
}

// killedSender is the assistant. It says which file it has dealt with. The program that the
// host has copied there is this test, which acts as agentrunner.
// With a file "stop", it first stops the far program, which then tells the host nothing more.
const killedSender = `cat >/dev/null; if [ -e stop ]; then cut -d " " -f 4 /proc/$PPID/stat >far; kill -STOP $(cat far); fi
echo "$LONGSHORE_URL" >url.part; mv url.part url; name=$(cat name); LONGSHORE_URL=$(cat line) $HOME/.longshore/bin/agentrunner* agentrunner send --wait 60s $name 2>&1; echo "over with $name"`

func newOverKilled(t *testing.T, idle string) *overKilled {
	t.Helper()
	return &overKilled{newOverSSH(t, fmt.Sprintf(`, idle_timeout: `+idle+`, agent: command, command: [sh, -c, %q]`, killedSender)), map[string]string{}}
}

// to dials the forwarded socket that the assistant of this moment has.
func (o *overKilled) to(ctx context.Context, _, _ string) (net.Conn, error) {
	url, err := os.ReadFile(filepath.Join(o.machine.Home, "longshore/desk/url"))
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	return d.DialContext(ctx, "unix", strings.TrimPrefix(strings.TrimSpace(string(url)), "unix:"))
}

// sends has the assistant send the step's file over a line on which the step can be watched.
func (o *overKilled) sends(t *testing.T, s killStep, then func()) (name string) {
	t.Helper()
	line := newWatched(t, "http://localhost", s.method, s.path, s.after, then)
	line.transport.DialContext = o.to
	name = fmt.Sprintf("ship-%d.txt", len(o.sent))
	o.sent[name] = s.content(name)
	for file, text := range map[string]string{name: o.sent[name], "name": name, "line": line.URL} {
		o.puts(t, file, text)
	}
	o.post("", "send it")
	return name
}

// puts writes a file into the assistant's directory.
func (o *overKilled) puts(t *testing.T, name, text string) {
	t.Helper()
	desk := filepath.Join(o.machine.Home, "longshore/desk")
	if err := os.MkdirAll(desk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(desk, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// killIt kills the step's victim: sshd's processes of the connection, or the host.
func (o *overKilled) killIt(t *testing.T, s killStep) {
	if s.victim == "host" {
		o.kill()
		o.start()
		return
	}
	for _, pid := range stage.Below(t, o.machine.Sshd.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // one may end with another
	}
}

// step has the assistant send one file, and kills the victim in the moment of the step.
func (o *overKilled) step(t *testing.T, s killStep) {
	killed := make(chan struct{})
	before := strings.Count(o.texts(), "was interrupted")
	name := o.sends(t, s, func() {
		defer close(killed)
		o.killIt(t, s)
	})
	select {
	case <-killed:
	case <-stage.Soon(t).Done():
		log, _ := os.ReadFile(filepath.Join(o.layout.Logs(), "desk", "assistant.log"))
		t.Fatalf("the step never came; the chat: %s\nthe assistant's log:\n%s", o.texts(), log)
	}
	// The turn is run again, or the chat is told that it was interrupted: then the host had
	// the request.
	stage.Eventually(t, "the chat hears how it ended", func() bool {
		return strings.Contains(o.texts(), "over with "+name) || strings.Count(o.texts(), "was interrupted") > before
	})
	if got := o.file(name); got.SHA256 != stage.Digest([]byte(o.sent[name])) {
		t.Errorf("in the chat: %+v", got)
	}
}

// once wants each file in the chat, and none twice.
func (o *overKilled) once() {
	o.t.Helper()
	seen := map[string]int{}
	for _, m := range o.receiver.Shown(o.t, "push:desk", 0) {
		for _, f := range m.Files {
			seen[f.Name]++
		}
	}
	for name := range o.sent {
		if seen[name] != 1 {
			o.t.Errorf("%s is in the chat %d times", name, seen[name])
		}
	}
}

// TestKilledAtEachStepOverSSHNothingIsLostAndNothingIsTwice: sshd, or the host, is killed
// at chosen steps of an upload and a send from another machine; at random ones by make
// kills.
func TestKilledAtEachStepOverSSHNothingIsLostAndNothingIsTwice(t *testing.T) {
	t.Parallel()
	o := newOverKilled(t, "2s")
	const upload, request, wait = "/api/files/", "/api/requests", "/api/deliveries/"
	for _, s := range stepsToKillAt(t, []killStep{
		{victim: "sshd", method: "PUT", path: upload, after: true},
		{victim: "sshd", method: "POST", path: request}, {victim: "sshd", method: "POST", path: request, after: true},
		{victim: "host", method: "POST", path: request, after: true},
	}, []killStep{
		{victim: "sshd", method: "HEAD", path: upload}, {victim: "sshd", method: "HEAD", path: upload, after: true}, {victim: "sshd", method: "PUT", path: upload},
		{victim: "sshd", method: "GET", path: wait}, {victim: "sshd", method: "GET", path: wait, after: true},
		{victim: "host", method: "PUT", path: upload}, {victim: "host", method: "PUT", path: upload, after: true},
		{victim: "host", method: "POST", path: request}, {victim: "host", method: "GET", path: wait}, {victim: "host", method: "GET", path: wait, after: true},
	}...) {
		t.Run(s.String(), func(t *testing.T) { o.step(t, s) })
	}
	o.once()
}

// TestAFollowUpWasRunTwiceBecauseNothingSaidThatItHadBeenRead: a running assistant had taken up
// a message and sent its file, and the far program had not told the host that the message had
// been read, when sshd or the host was killed. The message counted as unread, and a second run
// sent the file again.
func TestAFollowUpWasRunTwiceBecauseNothingSaidThatItHadBeenRead(t *testing.T) {
	t.Parallel()
	o := newOverKilled(t, "10m")
	for _, victim := range []string{"sshd", "host"} {
		t.Run(victim, func(t *testing.T) {
			first := o.sends(t, killStep{victim: victim, method: "none"}, nil)
			stage.Eventually(t, "the assistant waits for a follow-up", func() bool { return strings.Contains(o.texts(), "over with "+first) })
			o.puts(t, "stop", "")
			s := killStep{victim: victim, method: "POST", path: "/api/requests", after: true}
			before := strings.Count(o.texts(), "was interrupted")
			second := o.sends(t, s, func() {
				o.killIt(t, s)
				desk := filepath.Join(o.machine.Home, "longshore/desk")
				text, err := os.ReadFile(filepath.Join(desk, "far"))
				far, _ := strconv.Atoi(strings.TrimSpace(string(text)))
				if err = errors.Join(err, os.Remove(filepath.Join(desk, "stop"))); err != nil || far <= 1 {
					t.Errorf("the far program has the number %d, %v", far, err)
					return
				}
				_ = syscall.Kill(far, syscall.SIGCONT)
			})
			stage.Eventually(t, "the chat hears how the turn ended", func() bool {
				return strings.Contains(o.texts(), "over with "+second) || strings.Count(o.texts(), "was interrupted") > before
			})
		})
	}
	o.once()
}
