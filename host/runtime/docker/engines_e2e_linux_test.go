//go:build e2e

package docker_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/runtime/containertest"
)

// newPrivateWorld is a world on an engine of the test's own.
func newPrivateWorld(t *testing.T, flags ...string) (*world, *containertest.Private) {
	t.Helper()
	p := containertest.NewPrivate(t, flags...)
	return newWorldOn(t, p.Connect(), p.Base()), p
}

// startUp starts a container that says so, and then only sleeps.
func (w *world) startUp() runtime.Session {
	w.t.Helper()
	s := w.start(w.spec(say("up") + "; sleep 1000"))
	if out := <-s.Outputs(); out.Result == nil || *out.Result != "up" {
		w.t.Fatalf("said %v; its log:\n%s", out, w.log())
	}
	return s
}

// TestEngineThatDiesIsOutlived ends the engine under a container, as an
// upgrade or a crash does, and starts it again.
func TestEngineThatDiesIsOutlived(t *testing.T) {
	w, p := newPrivateWorld(t, "--bridge=none")
	w.runtime.Away = time.Minute
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			s := w.startUp()
			p.End(sig)
			if _, err := w.runtime.Start(t.Context(), w.spec("true")); !errors.Is(err, runtime.ErrAway) {
				t.Errorf("a start without an engine: %v, want one that is %v", err, runtime.ErrAway)
			}
			p.Start()
			if err := s.Wait(); err == nil || !strings.Contains(err.Error(), "engine") && sig == syscall.SIGKILL {
				t.Errorf("under an engine that died the assistant ended with %v", err)
			}
			if said := w.ask("echo again"); said != "again|" {
				t.Errorf("the next assistant said %q", said)
			}
			w.nothingLeft(w.layout.State)
		})
	}
}

// TestEngineThatStaysAwayIsGivenUp tells of an engine that does not come back
// in time that nobody knows what becomes of the container, and removes the
// container once there is an engine again.
func TestEngineThatStaysAwayIsGivenUp(t *testing.T) {
	w, p := newPrivateWorld(t, "--bridge=none", "--live-restore")
	w.runtime.Away = 100 * time.Millisecond
	s := w.startUp()
	p.End(syscall.SIGKILL)
	if err := s.Wait(); !errors.Is(err, runtime.ErrLost) {
		t.Errorf("ended with %v, want %v", err, runtime.ErrLost)
	}
	p.Start()
	if got := w.running(p); got != 1 {
		t.Fatalf("%d containers live on under the new engine, want 1", got)
	}
	w.runtime.Engine.Sweep(t.Context())
	w.nothingLeft(w.layout.State)
}

// TestContainerThatOutlivesItsEngineIsStopped has an engine that leaves its
// containers running when it dies: nothing can be heard of such a one, and it
// can be stopped.
func TestContainerThatOutlivesItsEngineIsStopped(t *testing.T) {
	w, p := newPrivateWorld(t, "--bridge=none", "--live-restore")
	w.runtime.Away = time.Minute
	s := w.startUp()
	p.End(syscall.SIGKILL)
	p.Start()
	if out, more := <-s.Outputs(); more {
		t.Errorf("heard %v of it", out)
	}
	s.Stop(t.Context())
	if err := s.Wait(); !errors.Is(err, runtime.ErrStopped) {
		t.Errorf("ended with %v, want %v", err, runtime.ErrStopped)
	}
	w.nothingLeft(w.layout.State)
}

// TestStopWithoutAnEngineEnds has nothing left that could stop the container.
func TestStopWithoutAnEngineEnds(t *testing.T) {
	w, p := newPrivateWorld(t, "--bridge=none")
	w.runtime.Away = time.Hour
	s := w.startUp()
	p.End(syscall.SIGKILL)
	began := time.Now()
	s.Stop(t.Context())
	if took := time.Since(began); took > time.Minute {
		t.Errorf("stopping took %s", took)
	}
	if err := s.Wait(); !errors.Is(err, runtime.ErrStopped) || !errors.Is(err, runtime.ErrLost) {
		t.Errorf("ended with %v, want one that is %v and %v", err, runtime.ErrStopped, runtime.ErrLost)
	}
	p.Start()
	w.runtime.Engine.Sweep(t.Context())
	w.nothingLeft(w.layout.State)
}

// running counts the containers of family.
func (w *world) running(p *containertest.Private) int {
	w.t.Helper()
	found, err := p.API().ContainerList(w.t.Context(), ofFamily)
	if err != nil {
		w.t.Fatal(err)
	}
	return len(found.Items)
}

func (w *world) nothingLeft(state string) {
	w.t.Helper()
	if left, err := w.runtime.Engine.Reap(w.t.Context(), state); err != nil || len(left) > 0 {
		w.t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestRemappingIsTurnedOff has an engine that gives containers other users
// than the host's: the assistant is the user that owns the group's directories
// all the same, and has no more rights for it.
func TestRemappingIsTurnedOff(t *testing.T) {
	p := containertest.NewRemapped(t)
	w := newWorldOn(t, p.Connect(), p.Base())
	w.runtime.Homes = w.layout.Homes()
	got := w.ask(`id -u; echo a >/workspace/group/a.txt && stat -c %u /workspace/group/a.txt; echo b >"$HOME/b" && echo home
	(echo c >/workspace/ipc/results/c) 2>/dev/null || echo "results refused"; grep -E '^(CapEff|CapBnd):' /proc/self/status | tr -d '\t'`)
	want := []string{"1000", "1000", "home", "results refused", "CapEff:0000000000000000", "CapBnd:0000000000000000"}
	if diff := cmp.Diff(want, lines(got)); diff != "" {
		t.Errorf("inside, want -, got +:\n%s", diff)
	}
	if info, err := os.Stat(filepath.Join(w.layout.Workspace("family"), "a.txt")); err != nil || info.Sys().(*syscall.Stat_t).Uid != 1000 {
		t.Errorf("on the host its file is %v, %v", info, err)
	}
}
