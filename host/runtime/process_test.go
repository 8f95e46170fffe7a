package runtime_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/runtime"
)

// TestMain is also the assistant: the tests start this binary with a part to
// play as its first argument.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "play" {
		play(os.Args[2], os.Args[3:])
		return
	}
	if len(os.Args) == 3 && os.Args[1] == "agentrunner" {
		say("longshore " + strings.Join(os.Args[1:], " "))
		return
	}
	goleak.VerifyTestMain(m)
}

func play(part string, args []string) {
	switch part {
	case "echo": // the input, the environment and the directory
		input, _ := io.ReadAll(os.Stdin)
		wd, _ := os.Getwd()
		say(string(input))
		say(strings.Join(os.Environ(), "\n"))
		say(wd)
	case "temp": // its directory for temporary files, which it leaves full
		dir := os.TempDir()
		info, _ := os.Stat(dir)
		entries, _ := os.ReadDir(dir)
		os.WriteFile(filepath.Join(dir, "x"), nil, 0o600)
		say(fmt.Sprintf("%s %04o %d", dir, info.Mode().Perm(), len(entries)))
	case "many":
		for i := range 1000 {
			say(strconv.Itoa(i))
		}
	case "flood":
		block := []byte(strings.Repeat("noise without an end ", 1000))
		for range 350 { // 15 MB, for which nobody has to wait
			os.Stdout.Write(block)
			os.Stderr.Write(block)
		}
		fmt.Println()
		say("dry")
	case "noise": // 24 MiB, and how long it took to get rid of them
		began, block := time.Now(), make([]byte, 64<<10)
		for range 12 << 20 / len(block) {
			os.Stdout.Write(block)
			os.Stderr.Write(block)
		}
		fmt.Println()
		say(time.Since(began).String())
	case "fail":
		fmt.Fprintln(os.Stderr, "out of \x1b[31mluck")
		os.Exit(3)
	case "hang", "deaf":
		if part == "deaf" {
			signal.Ignore(syscall.SIGTERM)
		}
		say("ready")
		select {}
	case "family": // children that stay: one in the group, one in a session of its own
		for _, own := range []bool{false, true} {
			child := exec.Command(os.Args[0], "play", "deaf")
			child.SysProcAttr = &syscall.SysProcAttr{Setsid: own}
			child.Stdout = os.Stdout // keeps the pipe open
			if err := child.Start(); err != nil {
				panic(err)
			}
			say(strconv.Itoa(child.Process.Pid))
		}
		if len(args) > 0 {
			select {}
		}
	case "runner": // is the host, and says what it runs by default
		s, err := runtime.Process{Version: "v1"}.Start(context.Background(), spec(args[0]))
		if err != nil {
			panic(err)
		}
		fmt.Print(strings.Join(all(s), ""))
	case "host": // runs "family" as its assistant and is then killed by the test
		s, err := runtime.Process{Command: []string{os.Args[0], "play", "family", "stay"}}.Start(context.Background(), spec(args[0]))
		if err != nil {
			panic(err)
		}
		fmt.Println(text(<-s.Outputs()))
		select {}
	}
}

func say(text string) {
	out, _ := json.Marshal(map[string]any{"status": "success", "result": text})
	fmt.Printf("---NANOCLAW_OUTPUT_START---\n%s\n---NANOCLAW_OUTPUT_END---\n", out)
}

func text(o runtime.Output) string {
	if o.Result == nil {
		return "null"
	}
	return *o.Result
}

func spec(dir string, command ...string) runtime.Spec {
	if len(command) > 0 {
		command = append([]string{os.Args[0], "play"}, command...)
	}
	return runtime.Spec{
		Group:   groups.Group{Folder: "family", Chat: "web:family", Main: true},
		Command: command,
		Agent:   "sample",
		Env:     map[string]string{"EXTRA": "1", "LONGSHORE_GROUP_FOLDER": "forged"},
		Input:   []byte(`{"prompt":"hello"}`),
		Mounts: []mounts.Mount{
			{Container: "/workspace/group", Host: dir},
			{Container: "/workspace/project", Host: "/srv", ReadOnly: true},
			{Container: "/workspace/project/.env", Host: "/dev/null", ReadOnly: true, Shadow: true},
		},
		WorkDir: dir,
		IPC:     filepath.Join(dir, "ipc"),
		LogDir:  filepath.Join(dir, "logs"),
		TZ:      "Europe/Berlin",
	}
}

// begin starts a part and fails the test when it outlives it.
func begin(t *testing.T, runtime runtime.Process, s runtime.Spec) runtime.Session {
	t.Helper()
	session, err := runtime.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		session.Stop(ctx)
	})
	return session
}

func all(s runtime.Session) (texts []string) {
	for o := range s.Outputs() {
		texts = append(texts, text(o))
	}
	return texts
}

func TestChildGetsItsInputAndACleanEnvironment(t *testing.T) {
	t.Setenv("SLACK_TOKEN", "xoxb-secret")
	dir := t.TempDir()
	s := begin(t, runtime.Process{Path: "/bin"}, spec(dir, "echo"))
	got := all(s)
	if err := s.Wait(); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[0] != `{"prompt":"hello"}` || got[2] != dir {
		t.Fatalf("got %q", got)
	}
	env := slices.DeleteFunc(strings.Split(got[1], "\n"), func(v string) bool { return strings.HasPrefix(v, "LONGSHORE_SESSION=") })
	want := []string{
		"EXTRA=1", "HOME=" + dir, "LANG=C.UTF-8", "LONGSHORE_AGENT=sample", "LONGSHORE_CHAT_JID=web:family",
		"LONGSHORE_GROUP_FOLDER=family", "LONGSHORE_IPC=" + dir + "/ipc", "LONGSHORE_IS_MAIN=1",
		`LONGSHORE_MOUNTS=[{"path":"/workspace/group","local":"` + dir + `","readOnly":false},{"path":"/workspace/project","local":"/srv","readOnly":true}]`,
		"PATH=/bin", "TZ=Europe/Berlin",
	}
	if diff := cmp.Diff(want, env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

// The machine's /tmp is everybody's, so an assistant without a container has a
// directory of its own for temporary files.
func TestChildsTemporaryFilesGoWithIt(t *testing.T) {
	dir := t.TempDir()
	s := spec(dir, "temp")
	s.Temp = filepath.Join(dir, "tmp", "fam")
	for range 2 { // what the first leaves as one that is killed does, the second does not find
		session := begin(t, runtime.Process{}, s)
		if texts := all(session); session.Wait() != nil || !slices.Equal(texts, []string{s.Temp + " 0700 0"}) {
			t.Errorf("it says %q", texts)
		}
		if _, err := os.Lstat(s.Temp); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("its temporary files stay: %v", err)
		}
		if err := errors.Join(os.MkdirAll(s.Temp, 0o755), os.WriteFile(filepath.Join(s.Temp, "left"), nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOutputsComeInOrderToASlowReader(t *testing.T) {
	s := begin(t, runtime.Process{}, spec(t.TempDir(), "many"))
	first := text(<-s.Outputs())
	// The child has long ended when the rest is read: nothing of it is lost.
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	got := []string{first}
	for o := range s.Outputs() {
		<-tick.C
		got = append(got, text(o))
	}
	for i := range 1000 {
		if i >= len(got) || got[i] != strconv.Itoa(i) {
			t.Fatalf("output %d of %d is not in its place", i, len(got))
		}
	}
}

func TestAFloodCostsNoMemoryAndHidesNoOutput(t *testing.T) {
	dir := t.TempDir()
	s := begin(t, runtime.Process{}, spec(dir, "flood"))
	if got := all(s); !slices.Equal(got, []string{"dry"}) {
		t.Errorf("got %d outputs", len(got))
	}
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
	if log := read(t, dir, "logs/assistant.log"); len(log) > 1<<20 {
		t.Errorf("the log has %d bytes", len(log))
	}
}

// TestNoiseIsThrottled has a child write more than any agent does. It waits,
// so that the host need not read it as fast as it can write.
func TestNoiseIsThrottled(t *testing.T) {
	s := begin(t, runtime.Process{}, spec(t.TempDir(), "noise"))
	got := all(s)
	if len(got) != 1 || s.Wait() != nil {
		t.Fatalf("said %q, ended with %v", got, s.Wait())
	}
	if took, err := time.ParseDuration(got[0]); err != nil || took < 900*time.Millisecond {
		t.Errorf("24 MiB took %s, %v; want the second that 8 MiB above the burst take", took, err)
	}
}

func TestACrashIsToldAndLogged(t *testing.T) {
	dir := t.TempDir()
	s := begin(t, runtime.Process{}, spec(dir, "fail"))
	if got := all(s); got != nil {
		t.Errorf("got %q", got)
	}
	var exit *exec.ExitError
	if err := s.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("got %v", err)
	}
	if log := read(t, dir, "logs/assistant.log"); !strings.Contains(log, `out of \x1b[31mluck`) || !strings.Contains(log, "exit status 3") {
		t.Errorf("log: %q", log)
	}
}

// One group's log that could not be opened ended the host, and each later one, as the message came again.
func TestALogThatCannotBeOpenedEndedTheHost(t *testing.T) {
	s := spec(t.TempDir(), "echo")
	s.LogDir = "/dev/null/logs"
	if _, err := (runtime.Process{}).Start(t.Context(), s); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("got %v", err)
	}
}

func TestAMissingProgramIsAnErrorOfStart(t *testing.T) {
	s := spec(t.TempDir())
	s.Command = []string{"/nonexistent/agent"}
	if _, err := (runtime.Process{}).Start(t.Context(), s); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// A script whose interpreter is missing was said to be missing itself.
func TestAMissingInterpreterIsNamed(t *testing.T) {
	s := spec(t.TempDir())
	script := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(script, []byte("#!/nonexistent/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Command = []string{script}
	if _, err := (runtime.Process{}).Start(t.Context(), s); err == nil || !strings.Contains(err.Error(), "the interpreter of its first line") {
		t.Errorf("got %v", err)
	}
}

func TestStopAsksThenKills(t *testing.T) {
	for _, part := range []string{"hang", "deaf"} {
		t.Run(part, func(t *testing.T) {
			s := begin(t, runtime.Process{Grace: 100 * time.Millisecond}, spec(t.TempDir(), part))
			<-s.Outputs()
			s.Stop(t.Context())
			if err := s.Wait(); !errors.Is(err, runtime.ErrStopped) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestNoOrphanIsLeft(t *testing.T) {
	t.Run("after a good end", func(t *testing.T) {
		s := begin(t, runtime.Process{}, spec(t.TempDir(), "family"))
		pids := all(s)
		s.Wait()
		allGone(t, pids)
	})
	t.Run("after a stop", func(t *testing.T) {
		s := begin(t, runtime.Process{Grace: time.Millisecond}, spec(t.TempDir(), "family", "stay"))
		pids := []string{text(<-s.Outputs()), text(<-s.Outputs())}
		s.Stop(t.Context())
		allGone(t, pids)
	})
	t.Run("after the host was killed", func(t *testing.T) {
		dir := t.TempDir()
		host := exec.Command(os.Args[0], "play", "host", dir)
		out, err := host.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := host.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		host.Process.Kill()
		host.Wait()
		// The next session of the same group clears up.
		s := begin(t, runtime.Process{}, spec(dir, "echo"))
		all(s)
		allGone(t, []string{strings.TrimSpace(line)})
	})
}

// allGone waits until none of the processes runs. One that was killed may
// stay as a zombie for as long as nobody collects it.
func allGone(t *testing.T, pids []string) {
	t.Helper()
	if len(pids) == 0 || pids[0] == "" {
		t.Fatal("no process was named")
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for _, pid := range pids {
		for runs(pid) {
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatalf("process %s is still there", pid)
			}
		}
	}
}

func runs(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}
