//go:build e2e

package remote

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/push/pushtest"
	"github.com/longshore-bridge/longshore/host/runtime/ssh/sshtest"
)

// overSSH is a host whose group desk has its assistant on another machine. more are further
// keys of the assistant.
type overSSH struct {
	*elsewhere
	machine *sshtest.Machine
}

func newOverSSH(t *testing.T, more string) *overSSH {
	t.Helper()
	m := sshtest.Start(t)
	return &overSSH{newElsewhereFor(t, onMachine(m, more)), m}
}

// onMachine is an assistant on a machine, as the configuration has it.
func onMachine(m *sshtest.Machine, more string) string {
	return fmt.Sprintf("{runtime: ssh, ssh: {host: %q, user: %s, key: %q, known_hosts: %q}%s}", m.Host, m.User, m.Key, m.KnownHosts, more)
}

// texts are the texts in the chat, one a line.
func (o *overSSH) texts() string {
	var all []string
	for _, m := range o.receiver.Shown(o.t, "push:desk", 0) {
		all = append(all, m.Text)
	}
	return strings.Join(all, "\n")
}

// file waits for a file of this name in the chat.
func (o *overSSH) file(name string) (f pushtest.File) {
	o.t.Helper()
	stage.Eventually(o.t, name+" is in the chat", func() bool {
		for _, m := range o.receiver.Shown(o.t, "push:desk", 0) {
			for _, f = range m.Files {
				if f.Name == name {
					return true
				}
			}
		}
		return false
	})
	return f
}

// idle waits until nothing of an assistant is left on the machine.
func (o *overSSH) idle() {
	o.t.Helper()
	stage.Eventually(o.t, "nothing runs on the machine", func() bool {
		left, err := filepath.Glob(filepath.Join(o.machine.Home, ".longshore/run/*"))
		if err != nil {
			o.t.Fatal(err)
		}
		for _, name := range left {
			if !strings.HasSuffix(name, ".lock") && !strings.HasSuffix(name, ".sock") {
				return false
			}
		}
		return true
	})
}

// TestAnAssistantOnAnotherMachineSendsItsFiles: a member's file goes there, and comes back
// from there byte for byte; the same session hears what is written meanwhile.
func TestAnAssistantOnAnotherMachineSendsItsFiles(t *testing.T) {
	t.Parallel()
	o := newOverSSH(t, "")
	content := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	sum := sha256.Sum256(content)
	address := o.receiver.Keep("log.bin", content)
	stage.Eventually(t, "the host takes a file", func() bool {
		return o.receiver.Post(t.Context(), "http://"+o.listen+"/", pushtest.Reply{Type: "message", Chat: "push:desk", ID: "file-1", From: "Ann", Direct: true,
			Files: []pushtest.ReplyFile{{URL: address, Name: "log.bin", Size: len(content)}}}) == nil
	})
	if got := o.file("log.bin"); got.SHA256 != hex.EncodeToString(sum[:]) || got.Size != int64(len(content)) {
		t.Errorf("%+v came back", got)
	}
	for _, text := range []string{"first", "second"} { // follow-ups
		o.post("", "say "+text)
		stage.Eventually(t, text+" is in the chat", func() bool { return strings.Contains(o.texts(), text) })
	}
	o.post("", "make a report")
	stage.Eventually(t, "the report is in the chat", func() bool {
		for _, m := range o.receiver.Shown(t, "push:desk", 0) {
			for _, f := range m.Files {
				if strings.HasSuffix(f.Name, ".pdf") {
					return true
				}
			}
		}
		return false
	})
	if here, err := os.ReadDir(o.layout.Workspace("desk")); err != nil || len(here) > 1 {
		t.Errorf("the host's workspace has %v, %v", here, err) // but the member's file
	}
	if there, err := os.ReadDir(filepath.Join(o.machine.Home, "longshore/desk")); err != nil || len(there) == 0 {
		t.Errorf("the machine's workspace has %v, %v", there, err)
	}
}

// TestASessionsTokenCountsInItsSessionAlone, and stands in no environment and on no command
// line of the machine.
func TestASessionsTokenCountsInItsSessionAlone(t *testing.T) {
	o := newOverSSH(t, `, agent: command, command: [sh, -c, "cp $LONGSHORE_TOKEN_FILE ../../stolen.tmp; mv ../../stolen.tmp ../../stolen; sleep 3600"]`)
	o.post("", "hello")
	var stolen []byte
	stage.Eventually(t, "the assistant has its token", func() (has bool) {
		var err error
		stolen, err = os.ReadFile(filepath.Join(o.machine.Home, "stolen"))
		return err == nil
	})
	if !bytes.HasPrefix(stolen, []byte("lsh_")) {
		t.Fatalf("the token is %q", stolen)
	}
	for _, kind := range []string{"environ", "cmdline"} {
		all, err := filepath.Glob("/proc/[0-9]*/" + kind)
		if err != nil || len(all) < 10 {
			t.Fatal(all, err)
		}
		for _, name := range all {
			if b, _ := os.ReadFile(name); bytes.Contains(b, stolen) {
				t.Errorf("the token stands in %s", name)
			}
		}
	}
	if info, err := os.Stat(filepath.Join(o.machine.Home, ".longshore/run")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if _, status := o.ask("GET", "/api/chat", string(stolen), "", nil, ""); status != 401 {
		t.Errorf("the door answers a session's token with %d", status)
	}
	o.post("", "/stop")
	o.idle()
	if left, _ := filepath.Glob(filepath.Join(o.machine.Home, ".longshore/run/*/token")); len(left) > 0 {
		t.Errorf("tokens are left: %v", left)
	}
}

// TestALostConnectionEndsTheAssistant and its whole process group, and the turn, which has
// sent nothing, is run again.
func TestALostConnectionEndsTheAssistant(t *testing.T) {
	o := newOverSSH(t, `, idle_timeout: 2s, agent: command, command: [sh, -c, "echo run >>runs; if [ $(wc -l <runs) -gt 1 ]; then echo again; exit; fi; sleep 3600 & echo $! >child; wait"]`)
	o.post("", "hello")
	child := filepath.Join(o.machine.Home, "longshore/desk/child")
	stage.Eventually(t, "the assistant works", func() bool { b, err := os.ReadFile(child); return err == nil && len(b) > 1 })
	pid, _ := os.ReadFile(child)
	// sshd's process of the connection: the parent of the one that runs the session.
	kill := exec.Command("sh", "-c", "kill -9 $(pgrep -P "+fmt.Sprint(o.machine.Sshd.Process.Pid)+")")
	if out, err := kill.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	stage.Eventually(t, "the child has ended", func() bool {
		_, err := os.Stat("/proc/" + strings.TrimSpace(string(pid)))
		return err != nil
	})
	stage.Eventually(t, "the turn is run again", func() bool { return strings.Contains(o.texts(), "again") })
	o.idle()
}

// TestAKilledHostsAssistantIsEndedByTheNext session of the group, if it is still there.
func TestAKilledHostsAssistantIsEndedByTheNext(t *testing.T) {
	t.Parallel()
	o := newOverSSH(t, `, idle_timeout: 2s, agent: command, command: [sh, -c, "echo run >>runs; if [ $(wc -l <runs) -gt 1 ]; then echo again; exit; fi; trap '' TERM; echo $$ >child; while :; do sleep 1; done"]`)
	o.post("", "hello")
	child := filepath.Join(o.machine.Home, "longshore/desk/child")
	stage.Eventually(t, "the assistant works", func() bool { b, err := os.ReadFile(child); return err == nil && len(b) > 1 })
	pid, _ := os.ReadFile(child)
	o.kill()
	o.start()
	o.post("", "hello again")
	stage.Eventually(t, "an answer is in the chat", func() bool { return strings.Contains(o.texts(), "again") })
	if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err == nil {
		t.Error("the first assistant still runs")
	}
}

// TestAMachineThatCannotBeReachedIsNamed, and the message waits until it can.
func TestAMachineThatCannotBeReachedIsNamed(t *testing.T) {
	m := sshtest.Start(t)
	known, err := os.ReadFile(m.KnownHosts)
	if err != nil {
		t.Fatal(err)
	}
	m.Knows(t, m.NewKey(t, "other"))
	o := &overSSH{newElsewhereFor(t, onMachine(m, "")), m}
	o.post("", "say hello there")
	stage.Eventually(t, "the host names the cause", func() bool {
		s, err := o.client.Status(t.Context())
		return err == nil && strings.Contains(fmt.Sprintf("%+v", s), "key has changed")
	})
	sshtest.Write(t, m.KnownHosts, string(known))
	stage.Eventually(t, "the answer is in the chat", func() bool { return strings.Contains(o.texts(), "hello there") })
}
