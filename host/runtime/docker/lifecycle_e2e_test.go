//go:build e2e

package docker_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/runtime/containertest"
	"github.com/longshore-bridge/longshore/internal/need"
)

// TestSessionSpeaksAndEnds is a run in which nothing goes wrong.
func TestSessionSpeaksAndEnds(t *testing.T) {
	w := newWorld(t)
	script := say("one") + "; echo noise; echo to the log >&2; " + say("two")
	if w.onPodman() { // which drops the output of a container that ends before it has read its input
		script = "cat >/dev/null; " + script
	}
	said, err := w.run(script)
	if err != nil || strings.Join(said, " ") != "one two" {
		t.Errorf("said %q, ended with %v; want one two, nil", said, err)
	}
	if log := w.log(); !strings.Contains(log, "to the log\n") {
		t.Errorf("the log holds %q", log)
	}
}

// TestWhatEndsAnAssistantIsTold runs programs that end badly.
func TestWhatEndsAnAssistantIsTold(t *testing.T) {
	w := newWorld(t)
	memory := "ran out of memory"
	if w.onPodman() { // which does not say so
		memory = "killed by signal 9, perhaps because of its memory"
	}
	for _, tc := range []struct{ name, script, want string }{
		{"exit", "exit 7", "exit status 7"},
		{"killed", "kill -9 $$; sleep 100", "killed by signal 9"},
		{"memory", `x=$(head -c 1G </dev/zero | tr '\0' x); echo ${#x}`, memory},
		{"full home", `head -c 1G </dev/zero >"$HOME/big" 2>/tmp/e; tail -c 24 /tmp/e >&2; exit 3`, "exit status 3"},
		{"missing program", "exec /no/such/program", "exit status 127"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := w.run(tc.script)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("ended with %v, want %q", err, tc.want)
			}
			if memory := tc.name == "memory" && !w.onPodman(); errors.Is(err, runtime.ErrOutOfMemory) != memory {
				t.Errorf("ended with %v; out of memory: want %v", err, memory)
			}
		})
	}
	if log := w.log(); !strings.Contains(log, "No space left on device") {
		t.Errorf("the full home directory is not told in the log:\n%s", log)
	}
}

// TestForksAreBounded starts more processes than there may be; the limit holds
// and the container ends with all of them.
func TestForksAreBounded(t *testing.T) {
	w := newWorld(t)
	w.runtime.Pids = 16
	// In a shell of its own: one that cannot fork ends.
	got := w.ask(`(i=0; while [ $i -lt 40 ]; do (sleep 1000 >/dev/null 2>&1 & ) || break; i=$((i+1)); done) 2>/dev/null
	set -- /proc/[0-9]*; [ $# -le 16 ] && echo bounded || echo "$# processes"`)
	if !strings.Contains(got, "bounded") {
		t.Errorf("want at most 16 processes: %s", got)
	}
}

// TestFloodsAreBounded writes what is neither an output nor worth a log, more
// than the host reads at once; what comes after it is heard, and the writer has
// waited.
func TestFloodsAreBounded(t *testing.T) {
	w := newWorld(t)
	s := w.start(w.spec(say("from here") + "; head -c 24M </dev/zero | tr '\\0' x; echo; head -c 8M </dev/zero | tr '\\0' y >&2; " + say("still here")))
	var said []string
	var times []time.Time
	for out := range s.Outputs() {
		said, times = append(said, *out.Result), append(times, time.Now())
	}
	if err := s.Wait(); err != nil || strings.Join(said, ", ") != "from here, still here" {
		t.Fatalf("said %q, ended with %v", said, err)
	}
	if took := times[1].Sub(times[0]); took < 1500*time.Millisecond { // the engine holds some
		t.Errorf("32 MiB took %s, want the two seconds of the 16 MiB above the burst", took)
	}
	var size int64
	for _, name := range []string{"assistant.log", "assistant.log.1"} {
		if info, err := os.Stat(filepath.Join(w.layout.Logs(), "family", name)); err == nil {
			size += info.Size()
		}
	}
	if size > 2<<20 {
		t.Errorf("the log has %d bytes, want 2 MiB at most", size)
	}
}

// TestStopEndsWhatDoesNotListen stops a program that ignores SIGTERM, and
// finds nothing left of it.
func TestStopEndsWhatDoesNotListen(t *testing.T) {
	w := newWorld(t)
	s := w.start(w.spec(`trap "" TERM; ` + say("up") + `; while :; do sleep 1; done`))
	if out := <-s.Outputs(); out.Result == nil || *out.Result != "up" {
		t.Fatalf("said %v", out)
	}
	began := time.Now()
	s.Stop(t.Context())
	if took := time.Since(began); took < time.Second || took > time.Minute {
		t.Errorf("stopping took %s, want its grace of 1s and little more", took)
	}
	if err := s.Wait(); !errors.Is(err, runtime.ErrStopped) {
		t.Errorf("ended with %v, want %v", err, runtime.ErrStopped)
	}
	if left, err := w.runtime.Engine.Reap(t.Context(), w.layout.State); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestStopWithoutPatience ends at once when its context is over, with outputs
// that nobody reads.
func TestStopWithoutPatience(t *testing.T) {
	w := newWorld(t)
	w.runtime.Grace = time.Minute
	s := w.start(w.spec(`trap "" TERM; while :; do ` + say("words") + `; done`))
	<-s.Outputs()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Stop(ctx)
	if err := s.Wait(); !errors.Is(err, runtime.ErrStopped) {
		t.Errorf("ended with %v, want %v", err, runtime.ErrStopped)
	}
}

// TestStartIsClear tells the operator what is wrong.
func TestStartIsClear(t *testing.T) {
	w := newWorld(t)
	refused := func(t *testing.T, want string) {
		t.Helper()
		s, err := w.runtime.Start(t.Context(), w.spec("true"))
		if err == nil {
			s.Stop(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("start: %v, want %q", err, want)
		}
	}
	t.Run("no image", func(t *testing.T) {
		image := w.runtime.Image
		defer func() { w.runtime.Image = image }()
		w.runtime.Image = "longshore-test/nothing:here"
		refused(t, "longshore image build")
	})
	t.Run("no network", func(t *testing.T) {
		defer func() { w.runtime.Network = "none" }()
		w.runtime.Network = "nowhere"
		command := "docker network ls"
		if w.onPodman() {
			command = "podman network ls"
		}
		refused(t, command)
	})
	t.Run("no access", func(t *testing.T) {
		dir := w.layout.IPC("family", "messages")
		if err := os.Chown(dir, 4242, 4242); err != nil {
			need.Lacking(t, "give files away: %v", err)
		}
		defer os.Chown(dir, 1000, 1000)
		refused(t, "chown -R 1000:1000 '"+dir+"'")
	})
	t.Run("linked directory", func(t *testing.T) {
		dir := w.layout.IPC("family", "files")
		if err := errors.Join(os.Remove(dir), os.Symlink(w.layout.IPC("family", "input"), dir)); err != nil {
			t.Fatal(err)
		}
		refused(t, "by a link that was not there")
	})
	if left, err := w.runtime.Engine.Reap(t.Context(), w.layout.State); err != nil || len(left) > 0 {
		t.Errorf("starts that failed left %v, %v", left, err)
	}
}

// TestNothingOutlivesItsHost starts containers, forgets them as a host that is
// killed does, and looks that the next host ends exactly its own.
func TestNothingOutlivesItsHost(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	forgotten := w.start(w.spec(say("up") + "; sleep 1000"))
	<-forgotten.Outputs()
	kept := other.start(other.spec(say("up") + "; sleep 1000"))
	<-kept.Outputs()

	left, err := w.runtime.Engine.Reap(t.Context(), w.layout.State)
	if err != nil || len(left) != 1 || left[0] != "family" {
		t.Errorf("reaped %v, %v; want family", left, err)
	}
	if err := forgotten.Wait(); err == nil {
		t.Error("a container that was reaped ended in good order")
	}
	kept.Stop(t.Context())
	if err := kept.Wait(); !errors.Is(err, runtime.ErrStopped) {
		t.Errorf("the other host's container ended with %v, before it was stopped", err)
	}
}

// TestOneContainerPerGroup starts a group's container while an earlier host's
// still runs: there is never a second one beside it.
func TestOneContainerPerGroup(t *testing.T) {
	w := newWorld(t)
	first := w.start(w.spec(say("up") + "; sleep 1000"))
	<-first.Outputs()
	if said := w.ask("echo second"); said != "second|" {
		t.Errorf("the second said %q", said)
	}
	if err := first.Wait(); err == nil {
		t.Error("the first container outlived the start of the second")
	}
}

// TestHomeIsKeptWhereTheRuntimeSays finds what an earlier container left, with
// the rights of its user alone.
func TestHomeIsKeptWhereTheRuntimeSays(t *testing.T) {
	w := newWorld(t)
	w.runtime.Homes = w.layout.Homes()
	w.ask(`echo remembered >"$HOME/conversation"`)
	if got := w.ask(`cat "$HOME/conversation"; stat -c %a:%u "$HOME"`); got != "remembered|700:1000|" {
		t.Errorf("the next container finds %q", got)
	}
}

// TestHomeInMemoryBelongsToTheAssistant uses an image that has a directory of
// that name, whose mode the engine carries over.
func TestHomeInMemoryBelongsToTheAssistant(t *testing.T) {
	w := newWorld(t)
	w.runtime.Image = containertest.AgentImage(t, "none")
	if got := w.ask(`echo kept >"$HOME/file"; cat "$HOME/file"; stat -c %u "$HOME"`); got != "kept|1000|" {
		t.Errorf("the home in memory: %q", got)
	}
}
