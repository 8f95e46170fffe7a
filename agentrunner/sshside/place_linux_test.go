package sshside

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/internal/fstest"
)

// TestALockedDirectoryBrokeATurnAndEachLaterOne: an assistant's temporary files held one in
// which their owner may not write, and an operator had to remove it. Root may remove
// everything, so the test runs as another user.
func TestALockedDirectoryBrokeATurnAndEachLaterOne(t *testing.T) {
	if os.Getuid() == 0 {
		fstest.AsAnotherUser(t)
		return
	}
	home := t.TempDir()
	for _, killed := range []bool{false, true, false} {
		script := `mkdir -p $TMPDIR/a/b; chmod 500 $TMPDIR/a; cat >/dev/null; echo here`
		if killed {
			script += `; sleep 3600`
		}
		s := start(t, home, script)
		s.frame(Frame{Kind: KindDocument}, "x")
		if got := s.line(s.out); got != "here" {
			t.Errorf("the assistant says %q", got)
		}
		if killed {
			_ = s.cmd.Process.Kill()
		}
		text, _ := io.ReadAll(s.stderr)
		if err := s.cmd.Wait(); (err != nil) != killed {
			t.Errorf("the session ended with %v: %s", err, text)
		}
	}
}

// TestASessionThatTookFilesCouldNotBeEnded: it named its process only when its assistant
// started, and until its connection ended no other session of the group could start.
func TestASessionThatTookFilesCouldNotBeEnded(t *testing.T) {
	home := t.TempDir()
	old := start(t, home, `echo too far`)
	if _, err := io.WriteString(old.stdin, `{"kind":"file","name":"a.txt","size":10}`+"\npart"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a part of the file", func() bool {
		_, err := os.Stat(filepath.Join(home, "longshore/desk/.part-a.txt"))
		return err == nil
	})
	s := start(t, home, `echo here`)
	s.frame(Frame{Kind: KindDocument}, "x")
	if got := s.line(s.out); got != "here" {
		t.Error(got)
	}
	_ = s.cmd.Wait()
	_ = old.cmd.Wait()
	if how := old.cmd.ProcessState.Sys().(syscall.WaitStatus); how.Signal() != syscall.SIGTERM {
		t.Errorf("the old session ended with %v", old.cmd.ProcessState)
	}
}

// aProcess is a process that SIGTERM ends.
type aProcess struct {
	pid   int
	start uint64
	in    io.Writer
	out   *bufio.Reader
}

func newProcess(t *testing.T) *aProcess {
	t.Helper()
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &aProcess{cmd.Process.Pid, startOf(cmd.Process.Pid), in, bufio.NewReader(out)}
}

// runs reports whether no signal has ended the process.
func (p *aProcess) runs() bool {
	_, _ = io.WriteString(p.in, "x\n")
	line, _ := p.out.ReadString('\n')
	return line == "x\n"
}

// heldFor makes a lock with these words, and holds it for so long.
func heldFor(t *testing.T, words string, d time.Duration) (name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "ab.lock")
	if err := os.WriteFile(name, []byte(words), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	end := time.AfterFunc(d, func() { f.Close() })
	t.Cleanup(func() { end.Stop() })
	return name
}

// wantRefused has a session take over a lock that is held for an hour.
func wantRefused(t *testing.T, words string, after time.Duration) {
	t.Helper()
	begun := time.Now()
	f, err := takeOver(heldFor(t, words, time.Hour))
	if err == nil {
		f.Close()
	}
	if took := time.Since(begun).Round(time.Second); took != after || err == nil || !strings.Contains(err.Error(), "does not end") {
		t.Errorf("after %s: %v", took, err)
	}
}

// TestAnOldSessionsNumberEndedAnotherProcess: the session had been killed, another process had
// its number, and the next session had not yet named itself.
func TestAnOldSessionsNumberEndedAnotherProcess(t *testing.T) {
	p := newProcess(t)
	synctest.Test(t, func(t *testing.T) {
		wantRefused(t, fmt.Sprintf("%d 0 %d\n", p.pid, p.start-1), takeOverTime)
	})
	if !p.runs() {
		t.Error("the process was ended")
	}
}

// TestASessionThatDoesNotEndWasWaitedForWithoutEnd, though it had been killed.
func TestASessionThatDoesNotEndWasWaitedForWithoutEnd(t *testing.T) {
	p := newProcess(t)
	synctest.Test(t, func(t *testing.T) {
		wantRefused(t, fmt.Sprintf("%d 0 %d\n", p.pid, p.start), 2*takeOverTime)
	})
	if p.runs() {
		t.Error("the process was not ended")
	}
}

// TestALockOfAnOlderAgentrunnerIsRead: such a lock always names the group of an assistant.
func TestALockOfAnOlderAgentrunnerIsRead(t *testing.T) {
	session := newProcess(t)
	assistant := newProcess(t)
	eventually(t, "a later tick of the clock", func() bool {
		assistant = newProcess(t)
		return assistant.start > session.start
	})
	f, err := os.Create(filepath.Join(t.TempDir(), "ab.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for words, want := range map[string][2]int{
		fmt.Sprintf("%d %d %d\n", session.pid, assistant.pid, assistant.start):   {session.pid, assistant.pid},
		fmt.Sprintf("%d %d %d\n", session.pid, assistant.pid, assistant.start-1): {session.pid, 0}, // another assistant
		fmt.Sprintf("%d %d %d\n", assistant.pid, session.pid, session.start):     {0, session.pid}, // another session
		fmt.Sprintf("%d %d -\n", session.pid, assistant.pid):                     {0, 0},           // it had ended already
		"": {0, 0},
	} {
		if err := os.WriteFile(f.Name(), []byte(words), 0o600); err != nil {
			t.Fatal(err)
		}
		if pid, group := noted(f); pid != want[0] || group != want[1] {
			t.Errorf("%q names %d and %d, want %v", words, pid, group, want)
		}
	}
}
