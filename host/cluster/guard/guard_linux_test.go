package guard

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// playing is of the environment of a process that the tests start: what it plays.
const playing = "LONGSHORE_TEST_GUARD"

func TestMain(m *testing.M) {
	switch os.Getenv(playing) {
	case "":
		os.Exit(m.Run())
	case "guard":
		_ = os.Setenv(playing, "owner")
		signals := make(chan os.Signal, 4)
		signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP)
		code, err := guardOf(os.Stdout).Run(signals)
		if err != nil {
			panic(err)
		}
		os.Exit(code)
	case "wrong":
		os.Exit(42)
	}
	os.Exit(own())
}

// own is a guarded owner, which renews for half a second each time it reads a line or hears SIGHUP.
func own() int {
	c := ChildOf(os.Getenv)
	go func() {
		c.Orphaned()
		os.Exit(1)
	}()
	heard := make(chan os.Signal, 4)
	signal.Notify(heard, syscall.SIGTERM, syscall.SIGHUP)
	if err := c.Until(Now() + time.Minute); err != nil {
		return 1
	}
	fmt.Println("owns", os.Getpid(), os.Getenv("NOTIFY_SOCKET")+os.Getenv(Variable))
	for s := range heard {
		if s == syscall.SIGTERM {
			return 7
		}
		_ = c.Until(Now() + 500*time.Millisecond)
		fmt.Println("renewed")
	}
	return 0
}

func guardOf(out io.Writer) *Guard {
	return &Guard{Program: os.Args[0], Env: os.Environ(), Stdout: out, Stderr: os.Stderr, Log: slog.New(slog.DiscardHandler), Lost: 7}
}

// On a busy machine a host lost its lease again and again. Its guard waited longer each time, up to 15 seconds, and
// no host stood by in that time.
func TestAHostThatLostItsLeaseAgainAndAgainDidNotStandBy(t *testing.T) {
	g := guardOf(nil)
	pause := time.Duration(0)
	for range 10 {
		if pause = g.pause(pause, time.Second, false, 7); pause != firstPause {
			t.Fatalf("a pause of %v after a lost lease", pause)
		}
	}
	if pause = g.pause(longestPause, time.Second, true, -1); pause != firstPause {
		t.Errorf("a pause of %v after a frozen one", pause)
	}
	for range 10 {
		pause = g.pause(pause, time.Second, false, 1)
	}
	if pause != longestPause {
		t.Errorf("a pause of %v after one that never comes up", pause)
	}
}

// run runs a guard of children that play a part. next returns the next line of one of them.
func run(t *testing.T, part string) (signals chan<- os.Signal, next func() string, code <-chan int) {
	t.Helper()
	read, write := io.Pipe()
	heard, ended := make(chan os.Signal, 4), make(chan int, 1)
	g := guardOf(write)
	g.Env = append(g.Env, playing+"="+part, "NOTIFY_SOCKET=/nowhere")
	go func() {
		code, err := g.Run(heard)
		if err != nil {
			t.Error(err)
		}
		ended <- code
		write.Close()
	}()
	lines := bufio.NewReader(read)
	return heard, func() string {
		t.Helper()
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(line)
	}, ended
}

func pidOf(t *testing.T, line string) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimPrefix(line, "owns "))
	if err != nil {
		t.Fatalf("the child says %q: its environment is the guard's", line)
	}
	return pid
}

// A frozen owner thawed after another one had taken over, and went on sending.
func TestAFrozenChildIsDeadAtItsDeadline(t *testing.T) {
	t.Parallel()
	signals, next, code := run(t, "owner")
	first := pidOf(t, next())
	handle, err := unix.PidfdOpen(first, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(handle)
	began := Now()
	signals <- syscall.SIGHUP
	if next() != "renewed" || unix.PidfdSendSignal(handle, unix.SIGSTOP, nil, 0) != nil {
		t.Fatal("the child is not frozen")
	}
	if !gone(handle) {
		t.Fatal("the child lives on, frozen")
	}
	if took := Now() - began; took < 500*time.Millisecond || took > 5*time.Second {
		t.Errorf("it was killed after %v", took)
	}
	if second := pidOf(t, next()); second == first {
		t.Error("it lives on")
	}
	signals <- syscall.SIGTERM
	if got := <-code; got != 7 {
		t.Errorf("the guard ended with %d, not with its child's code", got)
	}
}

func TestAChildThatNeverCameUpEndsItsGuard(t *testing.T) {
	t.Parallel()
	_, _, code := run(t, "wrong")
	if got := <-code; got != 42 {
		t.Errorf("the guard ended with %d", got)
	}
}

func TestTheGuardsDeathIsTheChilds(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), playing+"=guard")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	handle, err := unix.PidfdOpen(pidOf(t, strings.TrimSpace(line)), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(handle)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if !gone(handle) {
		t.Error("the child outlives its guard")
	}
}

// gone waits for the end of a process, by its handle. The runtime's signals interrupt a poll.
func gone(handle int) bool {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}, 10_000)
		if err != unix.EINTR {
			return n == 1
		}
	}
}

func TestASIGHUPKilledAChildThatDidNotListenYet(t *testing.T) {
	t.Parallel()
	signals, next, code := run(t, "owner")
	signals <- syscall.SIGHUP
	pidOf(t, next())
	if got := next(); got != "renewed" {
		t.Errorf("the child that is up says %q", got)
	}
	signals <- syscall.SIGTERM
	<-code
}

// The guard ended with a child that had come up, if it died at once after that.
func TestAChildThatDiedRightAfterItCameUpEndedItsGuard(t *testing.T) {
	t.Parallel()
	beats, tell, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join((&Child{beats: tell}).Until(0), tell.Close()); err != nil {
		t.Fatal(err)
	}
	c := &child{beats: make(chan time.Duration), ended: make(chan struct{}), closes: []io.Closer{beats}}
	close(c.ended)
	go c.read(beats)
	if c.wait(nil); !c.up {
		t.Error("it counts as one that never came up")
	}
}
