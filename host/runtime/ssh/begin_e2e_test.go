//go:build e2e

package ssh

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/runtime"
)

// openDoor lets every assistant in, and answers none.
type openDoor struct{}

func (openDoor) Admit(l net.Listener, _, _ string) (string, func(), error) {
	return "token", func() { l.Close() }, nil
}

// TestAStopEndedNoStartOverSshd is the same with a real machine, whose program reads nothing.
func TestAStopEndedNoStartOverSshd(t *testing.T) {
	m := startMachine(t)
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	noted := filepath.Join(m.home, "pid")
	r := Runtime{Target: m.Target, Program: []string{sleep, "3600 & echo $! >" + noted + "; wait #"}, Access: openDoor{}, Log: slog.New(slog.DiscardHandler)}
	spec := runtime.Spec{Input: []byte(`{"prompt":"` + strings.Repeat("x", 8<<20) + `"}`)}
	spec.Group.Folder = "desk"
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		_, err := r.Start(ctx, spec)
		ended <- err
	}()
	pid := numberIn(t, noted)
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	stop()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) || !errors.Is(err, runtime.ErrAway) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the start goes on")
	}
}

// numberIn waits until a file holds a line with a number.
func numberIn(t *testing.T, name string) int {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(time.Minute); ; {
		text, err := os.ReadFile(name)
		if line, whole := strings.CutSuffix(string(text), "\n"); whole {
			n, err := strconv.Atoi(line)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s holds %q: %v", name, text, err)
		}
	}
}
