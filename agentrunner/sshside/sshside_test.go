package sshside

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain is also the assistant of the tests, and a session of its own.
func TestMain(m *testing.M) {
	switch os.Getenv("FAR_TEST") {
	case "session":
		signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM) // as longshore does before it acts as agentrunner
		status, err := Serve([]string{"sh", "-c", os.Getenv("FAR_SCRIPT")}, os.Stdin, os.Stdout, os.Stderr)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(status)
	}
	goleak.VerifyTestMain(m)
}

// session is a session in a process of its own, as sshd starts it.
type aSession struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	out    *bufio.Reader
	stderr *bufio.Reader
}

func start(t *testing.T, home, script string) *aSession {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FAR_TEST=session", "FAR_SCRIPT="+script, "HOME="+home)
	s := &aSession{t: t, cmd: cmd}
	var err error
	if s.stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.out, s.stderr = bufio.NewReader(stdout), bufio.NewReader(stderr)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	s.frame(Frame{Kind: KindBegin, Begin: &Begin{Folder: "desk", Slot: "ab12", Socket: "/nowhere.sock", Token: "lsh_x", Mark: "mark"}}, "")
	return s
}

func (s *aSession) frame(f Frame, content string) {
	s.t.Helper()
	f.Size = int64(len(content))
	if err := Write(s.stdin, f, strings.NewReader(content)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *aSession) line(r *bufio.Reader) string {
	s.t.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		s.t.Fatal(err, line)
	}
	return strings.TrimSpace(line)
}

// TestASessionRunsTheAssistantWithItsFiles, tells what it has read, and leaves nothing but
// the workspace.
func TestASessionRunsTheAssistantWithItsFiles(t *testing.T) {
	home := t.TempDir()
	s := start(t, home, `cat; cat inbox/a.txt; cat $LONGSHORE_TOKEN_FILE; echo; in=$LONGSHORE_IPC/input; while [ ! -e $in/1.json ]; do sleep 0.05; done; cat $in/1.json; rm $in/1.json; while [ ! -e $in/_close ]; do sleep 0.05; done; exit 7`)
	s.frame(Frame{Kind: KindFile, Name: "inbox/a.txt"}, "a file\n")
	s.frame(Frame{Kind: KindDocument}, "the document\n")
	for _, want := range []string{"the document", "a file", "lsh_x"} {
		if got := s.line(s.out); got != want {
			t.Errorf("the assistant says %q, want %q", got, want)
		}
	}
	s.frame(Frame{Kind: KindInput, Name: "1.json"}, "more\n")
	if got := s.line(s.out); got != "more" {
		t.Errorf("it reads %q", got)
	}
	if got := s.line(s.stderr); got != "mark taken 1.json" {
		t.Errorf("the log says %q", got)
	}
	s.frame(Frame{Kind: KindInput, Name: "_close"}, "")
	if got := s.line(s.stderr); got != "mark ended" {
		t.Errorf("at the end, the log says %q", got)
	}
	_ = s.cmd.Wait()
	if code := s.cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("status %d", code)
	}
	if _, err := os.Stat(filepath.Join(home, ".longshore/run/ab12")); !os.IsNotExist(err) {
		t.Errorf("the session's directory is left: %v", err)
	}
	if _, err := os.Stat(filepath.Join(home, "longshore/desk/inbox/a.txt")); err != nil {
		t.Error(err)
	}
}

// TestWhatWasReadIsSaidBeforeTheEnd: a host takes what is not named by then for unread. A
// session that was killed says nothing.
func TestWhatWasReadIsSaidBeforeTheEnd(t *testing.T) {
	s := start(t, t.TempDir(), `cat; in=$LONGSHORE_IPC/input; while [ ! -e $in/2.json ]; do sleep 0.05; done; echo log >&2; rm $in/1.json; exit 0`)
	s.frame(Frame{Kind: KindDocument}, "x\n")
	s.frame(Frame{Kind: KindInput, Name: "1.json"}, "more")
	s.frame(Frame{Kind: KindInput, Name: "2.json"}, "more")
	text, err := io.ReadAll(s.stderr)
	if want := "log\nmark taken 1.json\nmark ended\n"; string(text) != want || err != nil {
		t.Errorf("the log is %q, %v, want %q", text, err, want)
	}
	s = start(t, t.TempDir(), `cat; kill -KILL $PPID`)
	s.frame(Frame{Kind: KindDocument}, "x\n")
	if text, err := io.ReadAll(s.stderr); strings.Contains(string(text), "ended") || err != nil {
		t.Errorf("the log of a killed one is %q, %v", text, err)
	}
}

// TestTheEndOfStdinEndsTheAssistant with all that is in its process group.
func TestTheEndOfStdinEndsTheAssistant(t *testing.T) {
	s := start(t, t.TempDir(), `sleep 3600 & echo $!; wait`)
	s.frame(Frame{Kind: KindDocument}, "x")
	child := s.line(s.out)
	_ = s.stdin.Close()
	_ = s.cmd.Wait()
	gone(t, child)
}

// TestANewSessionEndsTheOldOne, also if the old one was killed and its assistant was not.
func TestANewSessionEndsTheOldOne(t *testing.T) {
	t.Parallel() // it waits for seconds
	for _, killed := range []bool{false, true} {
		home := t.TempDir()
		old := start(t, home, `trap '' TERM; cat >/dev/null; echo $$; while :; do sleep 0.2; done`)
		old.frame(Frame{Kind: KindDocument}, "x")
		pid := old.line(old.out)
		if killed {
			_ = old.cmd.Process.Kill()
			_ = old.cmd.Wait()
		}
		s := start(t, home, `echo here`)
		s.frame(Frame{Kind: KindDocument}, "x")
		if got := s.line(s.out); got != "here" {
			t.Error(got)
		}
		_ = s.cmd.Wait()
		gone(t, pid)
	}
}

// TestAKilledSessionsAssistantWasNotNoted: it ran on, and no later session ended it. So the
// assistant gets its document, which it waits for, after its process group is noted.
func TestAKilledSessionsAssistantWasNotNoted(t *testing.T) {
	home := t.TempDir()
	s := start(t, home, `read word; cat $HOME/.longshore/run/ab12.lock; echo $$`)
	s.frame(Frame{Kind: KindDocument}, "x\n")
	noted, pid := strings.Fields(s.line(s.out)), s.line(s.out)
	if len(noted) != 3 || noted[1] != pid {
		t.Errorf("noted %q of process %s", noted, pid)
	}
}

func gone(t *testing.T, pid string) {
	t.Helper()
	eventually(t, "the end of process "+pid, func() bool {
		b, err := os.ReadFile("/proc/" + pid + "/stat")
		return err != nil || strings.Contains(string(b), ") Z ")
	})
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(time.Minute); !is(); {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s has not come", what)
		}
	}
}

// TestAFileStaysInTheWorkspace, whatever it is called and wherever links lead.
func TestAFileStaysInTheWorkspace(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	p, err := open(&Begin{Folder: "desk", Slot: "ab"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.close() }()
	if err := os.Symlink(home, filepath.Join(p.workspace, "out")); err != nil {
		t.Fatal(err)
	}
	if err := p.putFile("out/x", strings.NewReader("evil")); err == nil {
		t.Error("a link led out of the workspace")
	}
	for _, name := range []string{"../x", "/x", "a/../../x", ""} {
		if err := (Frame{Kind: KindFile, Name: name}).check(); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
	for _, name := range []string{"../x.json", ".hidden", "a/b.json", ""} {
		if err := (Frame{Kind: KindInput, Name: name}).check(); err == nil {
			t.Errorf("the follow-up %q is taken", name)
		}
	}
	if _, err := os.Stat(filepath.Join(home, "x")); !os.IsNotExist(err) {
		t.Error(err)
	}
	if _, err := open(&Begin{Folder: "../desk", Slot: "ab"}); err == nil {
		t.Error("a folder led out of the home directory")
	}
}

// TestAPipeInAFilesPlaceHoldsNothingUp: the session waited for its reader, heard neither the
// host nor the connection's end any more, and the assistant went on.
func TestAPipeInAFilesPlaceHoldsNothingUp(t *testing.T) {
	s := start(t, t.TempDir(), `mkdir inbox; mkfifo inbox/.part-a.txt inbox/b.txt; echo $$; sleep 3600`)
	s.frame(Frame{Kind: KindDocument}, "x")
	pid := s.line(s.out)
	s.frame(Frame{Kind: KindFile, Name: "inbox/a.txt"}, "hello")
	s.frame(Frame{Kind: KindFile, Name: "inbox/b.txt"}, "hello")
	_ = s.stdin.Close()
	gone(t, pid)
	_ = s.cmd.Wait()
}

// FuzzFrames reads what no host would send.
func FuzzFrames(f *testing.F) {
	var good bytes.Buffer
	_ = Write(&good, Frame{Kind: KindFile, Name: "a", Size: 3}, strings.NewReader("abc"))
	f.Add(good.Bytes())
	f.Add([]byte(`{"kind":"file","name":"../a","size":9223372036854775807}` + "\n"))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bufio.NewReader(bytes.NewReader(b))
		for range 100 {
			frame, err := read(r)
			if err != nil {
				return
			}
			if frame.Size < 0 || frame.Kind == KindFile && !filepath.IsLocal(frame.Name) {
				t.Fatalf("%+v", frame)
			}
			failed, broken := take(r, frame, func(io.Reader) error { return nil })
			if failed != nil {
				t.Fatal(failed)
			}
			if broken != nil {
				return
			}
		}
	})
}

// A file whose connection broke off lay in its place as if it were whole.
func TestAFileThatWasCutLookedWhole(t *testing.T) {
	var all bytes.Buffer
	if err := Write(&all, Frame{Kind: KindFile, Name: "a", Size: 6}, strings.NewReader("abcdef")); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(bytes.NewReader(all.Bytes()[:all.Len()-3]))
	f, err := read(r)
	if err != nil {
		t.Fatal(err)
	}
	failed, broken := take(r, f, func(content io.Reader) error {
		_, err := io.ReadAll(content)
		return err
	})
	if !errors.Is(failed, io.ErrUnexpectedEOF) || !errors.Is(broken, io.ErrUnexpectedEOF) {
		t.Errorf("%v, %v", failed, broken)
	}
}
