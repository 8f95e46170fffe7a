//go:build e2e

package remote

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
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
const killedSender = `cat >/dev/null; echo "$LONGSHORE_URL" >url.part; mv url.part url; name=$(cat name); LONGSHORE_URL=$(cat line) $HOME/.longshore/bin/agentrunner* agentrunner send --wait 60s $name 2>&1; echo "over with $name"`

func newOverKilled(t *testing.T) *overKilled {
	t.Helper()
	return &overKilled{newOverSSH(t, fmt.Sprintf(`, idle_timeout: 2s, agent: command, command: [sh, -c, %q]`, killedSender)), map[string]string{}}
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

// step has the assistant send one file, and kills sshd's processes of the connection, or the
// host, in the moment of the step.
func (o *overKilled) step(t *testing.T, s killStep) {
	killed := make(chan struct{})
	line := newWatched(t, "http://localhost", s.method, s.path, s.after, func() {
		defer close(killed)
		if s.victim == "host" {
			o.kill()
			o.start()
			return
		}
		for _, pid := range stage.Below(t, o.machine.Sshd.Process.Pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // one may end with another
		}
	})
	line.transport.DialContext = o.to
	name := fmt.Sprintf("ship-%d.txt", len(o.sent))
	o.sent[name] = s.content(name)
	desk := filepath.Join(o.machine.Home, "longshore/desk")
	if err := os.MkdirAll(desk, 0o700); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{name: o.sent[name], "name": name, "line": line.URL} {
		if err := os.WriteFile(filepath.Join(desk, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := strings.Count(o.texts(), "was interrupted")
	o.post("", "send it")
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
	o := newOverKilled(t)
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
