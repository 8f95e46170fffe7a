package confine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/internal/fstest"
	"github.com/longshore-bridge/longshore/internal/need"
)

// needConfinement skips where the kernel has no Landlock.
func needConfinement(t *testing.T) {
	t.Helper()
	if landlockVersion() == 0 {
		need.Lacking(t, "confine a program: its kernel has no Landlock")
	}
}

// attack is what the hostile program says of its attempt, or "killed".
func attack(t *testing.T, r Runner, c Command, name string, args ...string) string {
	t.Helper()
	c.Program, c.Args = self, append([]string{"hostile", name}, args...)
	c.Limits.Memory = max(c.Limits.Memory, testMemory)
	c.Time = cmp.Or(c.Time, 10*time.Minute) // which no busy machine uses up
	out, err := r.Run(t.Context(), c)
	if _, ended := errors.AsType[*exec.ExitError](err); ended {
		t.Logf("%s: %v", name, err)
		return "killed"
	} else if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return strings.TrimSpace(string(out))
}

func runners() map[string]Runner {
	return map[string]Runner{"with namespaces": {Mode: Confined}, "without namespaces": {Mode: Confined, noNamespaces: true}}
}

// listener is what a program must not reach: one by the network, one by name.
func listener(t *testing.T, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// inputFile is a file of the host's user alone.
func inputFile(t *testing.T, content string) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// A program that a file has taken over gets at nothing of the host's. Every
// attack is first tried unconfined, where it must succeed.
func TestAProgramThatAFileHasTakenOverDoesNoHarm(t *testing.T) {
	needConfinement(t)
	open := filepath.Join(t.TempDir(), "open")
	fresh := func() { // its modes allow everybody everything
		if err := errors.Join(os.WriteFile(open, []byte("secret"), 0o600), os.Chmod(open, 0o666), os.Chmod(filepath.Dir(open), 0o777)); err != nil {
			t.Fatal(err)
		}
	}
	for dir := filepath.Dir(filepath.Dir(open)); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		_ = os.Chmod(dir, 0o755)
	}
	tcp := listener(t, "tcp", "127.0.0.1:0").Addr().String()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	socket := listener(t, "unix", filepath.Join(fstest.ShortTemp(t), "socket")).Addr().String()
	_ = errors.Join(os.Chmod(socket, 0o777), os.Chmod(filepath.Dir(socket), 0o777))
	abstract := listener(t, "unix", "@longshore-test-"+strconv.Itoa(os.Getpid())).Addr().String()
	for _, tt := range []struct {
		name string
		args []string
	}{
		{name: "read", args: []string{open}}, {name: "read", args: []string{"/etc/passwd"}}, {name: "read", args: []string{"/proc/self/environ"}},
		{name: "list", args: []string{"/"}}, {name: "list", args: []string{filepath.Dir(open)}},
		{name: "connect", args: []string{"tcp", tcp}}, {name: "connect", args: []string{"udp", udp.LocalAddr().String()}},
		{name: "connect", args: []string{"unix", socket}}, {name: "connect", args: []string{"unix", abstract}},
		{name: "watch"}, {name: "owner", args: []string{strconv.Itoa(child(t))}},
		{name: "fork"}, {name: "files"}, {name: "allocate"}, {name: "memfile"}, {name: "cut"},
		{name: "limit", args: []string{strconv.Itoa(child(t))}}, {name: "signal", args: []string{strconv.Itoa(child(t))}},
		{name: "write", args: []string{open}}, {name: "chmod", args: []string{open}}, {name: "truncate", args: []string{open}}, {name: "remove", args: []string{open}},
	} {
		if tt.name == "allocate" && raceDetector {
			continue // the detector has no memory limit
		}
		fresh()
		for how, r := range runners() {
			c := Command{Input: inputFile(t, "input")}
			if got := attack(t, r, c, tt.name, tt.args...); got == "done" {
				t.Errorf("%s %v succeeds %s", tt.name, tt.args, how)
			}
			if b, err := os.ReadFile(c.Input.Name()); err != nil || string(b) != "input" {
				t.Errorf("%s: the input is %q afterwards, %v", tt.name, b, err)
			}
		}
		fi, err := os.Stat(open)
		if b, _ := os.ReadFile(open); err != nil || string(b) != "secret" || fi.Mode().Perm() != 0o666 {
			t.Errorf("%s: the file is %q afterwards, %v", tt.name, b, err)
		}
		if got := attack(t, Runner{Mode: Unconfined}, Command{Input: inputFile(t, "input")}, tt.name, tt.args...); got != "done" {
			t.Errorf("%s %v fails unconfined too, and so proves nothing: %s", tt.name, tt.args, got)
		}
	}
}

// Older versions of Landlock do not know that a file can be cut off, and none
// knows of a file's rights or of other processes: the filter of calls does.
func TestTheFilterOfCallsCoversWhatLandlockDoesNotKnow(t *testing.T) {
	needConfinement(t)
	file, pid := inputFile(t, "input"), strconv.Itoa(child(t))
	tcp := listener(t, "tcp", "127.0.0.1:0").Addr().String()
	for _, args := range [][]string{
		{"cut"}, {"truncate", file.Name()}, {"chmod", file.Name()}, {"fork"}, {"connect", "tcp", tcp}, {"limit", pid}, {"signal", pid},
		{"owner", pid}, {"lease"}, {"watch"},
	} {
		cmd := exec.CommandContext(t.Context(), self, append([]string{"filtered"}, args...)...)
		cmd.Stdin = file
		out, err := cmd.Output()
		if err != nil || string(out) == "done\n" || !strings.Contains(string(out), "operation not permitted") {
			t.Errorf("%v: %q, %v", args, out, err)
		}
		if b, err := os.ReadFile(file.Name()); err != nil || string(b) != "input" {
			t.Fatalf("%v: the input is %q afterwards, %v", args, b, err)
		}
	}
}

// child is a process of the program's user, if that is not root's own.
func child(t *testing.T) int {
	t.Helper()
	cmd := exec.Command(self, "hostile", "sleep")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd.Process.Pid
}

func TestAProgramIsNotTheHostsUserAndSeesNothingOfIt(t *testing.T) {
	needConfinement(t)
	t.Setenv("SECRET", "1")
	for how, r := range runners() {
		for name, want := range map[string]string{"root": "user", "environment": "clean", "descriptors": "none"} {
			if got := attack(t, r, Command{}, name); got != want {
				t.Errorf("%s %s: %q, want %q", name, how, got, want)
			}
		}
		if got := attack(t, r, Command{Input: inputFile(t, "the bytes")}, "copy"); got != "the bytesdone" {
			t.Errorf("the program reads %q from its input %s", got, how)
		}
	}
}

// Thousands of threads are as good as thousands of processes.
func TestAProgramCannotFillTheProcessTable(t *testing.T) {
	needConfinement(t)
	if got := attack(t, Runner{Mode: Confined}, Command{Limits: Limits{Threads: 64, Memory: 64 << 30}}, "threads"); got == "done" {
		t.Error("a thousand threads were made")
	}
}

func TestAProgramEndsWithItsTime(t *testing.T) {
	needConfinement(t)
	for _, mode := range []Mode{Confined, Unconfined} {
		r := Runner{Mode: mode}
		if _, err := r.Run(t.Context(), Command{Program: self, Args: []string{"hostile", "sleep"}, Time: 200 * time.Millisecond, Limits: Limits{Memory: testMemory}}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: a program that waits for ever ends with %v", mode, err)
		}
		if _, err := r.Run(t.Context(), Command{Program: self, Args: []string{"hostile", "talk"}, Output: 5000, Time: time.Hour, Limits: Limits{Memory: testMemory}}); err == nil || !strings.Contains(err.Error(), "5000 bytes of output") {
			t.Errorf("%s: a program that talks for ever ends with %v", mode, err)
		}
	}
	if got := attack(t, Runner{Mode: Confined}, Command{Time: time.Hour, Limits: Limits{CPU: 1}}, "spin"); got != "killed" {
		t.Errorf("a program that computes for ever says %q", got)
	}
}

// parent is a host that runs a program: for ever, or the one that is named.
func parent(mode string, named []string) {
	c := Command{Program: self, Args: []string{"hostile", "sleep"}, Time: time.Hour, Limits: Limits{Memory: testMemory}}
	if len(named) > 0 {
		c.Args = append([]string{"hostile"}, named...)
	}
	out, err := Runner{Mode: Mode(mode)}.Run(context.Background(), c)
	fmt.Print(string(out))
	if err != nil {
		fmt.Println(err)
	}
}

// A shell or a supervisor may start the host with open descriptors that are not marked to be
// closed: here 9, a file with a secret.
func TestAProgramInheritsNoDescriptorOfTheHostsStarter(t *testing.T) {
	needConfinement(t)
	secret := inputFile(t, "secret")
	started := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), self, args...)
		cmd.ExtraFiles = []*os.File{6: secret} // 3 and so on
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v, %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if got := started("hostile", "inherited"); got != "done" {
		t.Errorf("the host itself does not get the descriptor, and so nothing is proved: %q", got)
	}
	for _, mode := range []Mode{Confined, Unconfined} {
		if got := started("parent", string(mode), "inherited"); got != "bad file descriptor" {
			t.Errorf("%s: a program gets at the descriptor: %q", mode, got)
		}
	}
}

func TestAProgramDiesWithTheHost(t *testing.T) {
	needConfinement(t)
	for _, mode := range []Mode{Confined, Unconfined} {
		host := exec.Command(self, "parent", string(mode))
		if err := host.Start(); err != nil {
			t.Fatal(err)
		}
		program := childOf(t, host.Process.Pid)
		fd, err := unix.PidfdOpen(program, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		if err := host.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = host.Wait()
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 60_000)
		for err == unix.EINTR { // by a signal of the runtime
			n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 60_000)
		}
		if err != nil || n != 1 {
			t.Errorf("%s: the program outlives a host that was killed: %d, %v", mode, n, err)
			_ = syscall.Kill(program, syscall.SIGKILL)
		}
	}
}

// childOf waits for the program that a process has started.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	deadline := time.After(time.Minute)
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		stats, _ := filepath.Glob("/proc/[0-9]*/status")
		for _, path := range stats {
			text, _ := os.ReadFile(path)
			args, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			if strings.Contains(string(text), fmt.Sprintf("\nPPid:\t%d\n", pid)) && bytes.Contains(args, []byte("\x00hostile\x00sleep")) {
				n, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the program did not start")
		}
	}
}

// A host that is not root has the same walls but for the user.
func TestAHostOfAnotherUserConfinesAsWell(t *testing.T) {
	needConfinement(t)
	if os.Getuid() != 0 {
		t.Skip("this is such a host, and the tests above are of it")
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.v", "-test.run", "^TestAProgram")
	cmd.Dir, cmd.Env = "/", append(os.Environ(), "TMPDIR=/tmp", "HOME=/")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestAProgramThatAFileHasTakenOverDoesNoHarm")) {
		t.Errorf("as another user: %v\n%s", err, out)
	}
}

func TestTheProbeTriesTheWalls(t *testing.T) {
	needConfinement(t)
	if raceDetector {
		t.Skip("the race detector does not start within the memory of a program")
	}
	got, err := Probe(t.Context())
	if err != nil || got.Landlock != landlockVersion() || got.User != unusedUsers[0] && os.Getuid() == 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// A process whose main function does not know the hidden argument would start
// itself for ever.
func TestAMainFunctionWithoutChildRunsNothing(t *testing.T) {
	args := os.Args
	defer func() { os.Args = args }()
	os.Args = []string{args[0], Arg, "{}"}
	if _, err := (Runner{Mode: Confined}).Run(t.Context(), Command{Program: self}); err == nil || !strings.Contains(err.Error(), "confine.Child") {
		t.Error(err)
	}
}

func TestTheZeroRunnerRunsNothing(t *testing.T) {
	if _, err := (Runner{}).Run(t.Context(), Command{Program: self}); !errors.Is(err, ErrOff) {
		t.Error(err)
	}
}

func TestAnUnusedUserHasToExistInTheNamespace(t *testing.T) {
	for lines, want := range map[string]bool{
		"         0          0 4294967295\n": true, "0 100000 65536\n": false, "0 1000 1\n1 100000 65536\n": false,
		"2000000000 5 1\n": true, "": false, "junk\n": false,
	} {
		if got := mapped(lines, 2_000_000_000); got != want {
			t.Errorf("mapped(%q) is %t", lines, got)
		}
	}
}
