//go:build e2e

package kill

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
)

// diskFailures are those of each kind of call on each file of the way of a request: the
// outbox's database and files, the page's, the results, which are created, written and
// renamed and need no sync, since a new host writes them again from the outbox, and the audit
// trail. The journal of a channel, and the assistants' record of what members wrote, are in
// TestADiskThatFailsUnderWhatMembersWriteLosesNothing.
func diskFailures() (all []stage.Failure) {
	for _, at := range []struct {
		kind, path string
		nth        int
	}{
		{"write", "longshore.db-wal", 5},
		{"write", "longshore.db-wal", 10},
		{"sync", "longshore.db-wal", 2},
		{"sync", "longshore.db-wal", 4},
		{"create", "blobs/*", 1},
		{"write", "blobs/*", 1},
		{"sync", "blobs/*", 1},
		{"rename", "blobs/*", 1},
		{"sync", "blobs", 1},
		{"unlink", "blobs/*", 1},
		{"link", "blobs/*", 1},
		{"create", "ipc/*/results/*", 2},
		{"write", "ipc/*/results/*", 2},
		{"rename", "ipc/*/results/*", 2},
		{"unlink", "ipc/*/messages/*", 2},
		{"write", "audit/*", 1},
	} {
		for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EIO} {
			if at.kind == "unlink" && errno == syscall.ENOSPC {
				continue // takes no room
			}
			all = append(all, stage.Failure{Kind: at.kind, Path: at.path, Nth: at.nth, Times: 3, Errno: errno})
		}
	}
	return all
}

// TestADiskThatFailsForAWhileLosesNothingAndShowsNothingTwice has three calls of a kind
// fail, wherever they come from, SQLite too. The host goes on by itself once the disk
// works again, and its log has told the operator. The host after it finds all as it
// should be.
func TestADiskThatFailsForAWhileLosesNothingAndShowsNothingTwice(t *testing.T) {
	all := diskFailures()
	for _, f := range all {
		t.Run(strings.ReplaceAll(failureString(f), "/", "_"), func(t *testing.T) {
			t.Parallel()
			b := newFaultSite(t)
			b.Traced(stage.Tracing{Fail: &f}, b.done)
			if !b.done() {
				t.Errorf("the host did not go on: %s", b.Said)
			}
			if !strings.HasPrefix(f.Path, "longshore.db") && !strings.HasPrefix(f.Path, "blobs") && b.Said == "" { // the page's are in "queue show"
				t.Error("the log says nothing")
			}
			b.ask(1)
			for _, f := range b.settled() {
				t.Error(f)
			}
		})
	}
}

// newFaultSite is a site with its stores, and requests that wait.
func newFaultSite(t *testing.T) *pageSite {
	t.Helper()
	b := newKillSite(t, t.TempDir())
	b.ask(1)
	if faults := b.settled(); len(faults) > 0 { // makes the stores
		t.Fatal(faults)
	}
	b.ask(4)
	return b
}

// TestAnyOneCallThatFailsLosesNothing has one call fail, at places all over a host's life,
// its start and the making of its stores included. A host that ends for it says why. The
// calls are all that change a file below the state directory, whoever makes them: create,
// write, truncate, sync, rename, unlink, link, mkdir, of the installation's marks, of the
// outbox, the page, the tasks and the audit trail, of groups' queues and results and of the
// control socket. Between two of them lie 60, or 4 with the variable for kills.
func TestAnyOneCallThatFailsLosesNothing(t *testing.T) {
	every := 60
	if os.Getenv(stage.KillsEnv) != "" {
		every = 4
	}
	calls := 0
	counting := newKillSite(t, t.TempDir())
	counting.ask(2)
	for _, n := range counting.Operations(counting.done) {
		calls += n
	}
	for nth := 1; nth <= calls; nth += every {
		for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EIO} {
			f := stage.Failure{Nth: nth, Times: 1, Errno: errno}
			t.Run(fmt.Sprintf("%s at call %d", errno, nth), func(t *testing.T) {
				t.Parallel()
				b := newKillSite(t, t.TempDir())
				b.ask(2)
				b.Traced(stage.Tracing{Fail: &f}, b.done)
				if !b.done() && b.Said == "" {
					t.Error("the host ended and did not say why")
				}
				for _, f := range b.settled() {
					t.Errorf("%s; the host before said: %s", f, b.Said)
				}
			})
		}
	}
}

// TestADiskThatIsReadOnlyForAWhileLosesNothing: no call that changes anything works, as
// after the kernel has remounted a failing disk, until somebody mends it.
func TestADiskThatIsReadOnlyForAWhileLosesNothing(t *testing.T) {
	t.Parallel()
	b := newFaultSite(t)
	b.Traced(stage.Tracing{Fail: &stage.Failure{Nth: 60, Times: 60, Errno: syscall.EROFS}}, b.done)
	if b.Said == "" {
		t.Error("the log says nothing")
	}
	b.ask(1)
	for _, f := range b.settled() {
		t.Errorf("%s; the host before said: %s", f, b.Said)
	}
}

// TestADiskThatFailsForGoodIsNamedByTheStatus has every call fail that changes anything, from
// a moment on at which the host works: while it waits for somebody who mends the disk, the
// operator reads why.
func TestADiskThatFailsForGoodIsNamedByTheStatus(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EROFS, syscall.EIO, syscall.ENOSPC} {
		t.Run(errno.Error(), func(t *testing.T) {
			t.Parallel()
			b := newFaultSite(t)
			var said string
			b.Traced(stage.Tracing{Fail: &stage.Failure{Nth: 60, Times: 1 << 30, Errno: errno}}, func() bool {
				said, _, _ = stage.RunLine(t, filepath.Join(b.Dir, "longshore.yaml"), "status")
				return strings.Contains(said, "not_accepting") && strings.Contains(said, errno.Error())
			})
			if !strings.Contains(said, "not_accepting") {
				t.Errorf("the status: %s", said)
			}
			for _, f := range b.settled() {
				t.Errorf("%s; the host before said: %s", f, b.Said)
			}
		})
	}
}

// TestWithoutInotifyRequestsAreFoundAnyway: other programs have all of it.
func TestWithoutInotifyRequestsAreFoundAnyway(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENOSPC} {
		t.Run(errno.Error(), func(t *testing.T) {
			t.Parallel()
			b := newFaultSite(t)
			b.Traced(stage.Tracing{Fail: &stage.Failure{Kind: "watch", Nth: 1, Times: 1 << 30, Errno: errno}}, b.done)
			if !b.done() || !strings.Contains(b.Said, "inotify") {
				t.Errorf("done: %v; the host said: %s", b.done(), b.Said)
			}
			for _, f := range b.settled() {
				t.Error(f)
			}
		})
	}
}

// TestTooFewDescriptorsLoseNothing runs hosts that may open that many files. Each serves,
// or ends and says why.
func TestTooFewDescriptorsLoseNothing(t *testing.T) {
	for _, limit := range []int{12, 24, 32, 40, 48, 64} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			b := newFaultSite(t)
			host := b.ServeCommand()
			host.Args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$0" "$@"`, limit), host.Path}, host.Args[1:]...)
			host.Path = "/bin/sh"
			var said stage.LockedBuffer
			host.Stderr = &said
			if err := host.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- host.Wait() }()
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for deadline := time.After(20 * time.Second); ; { // a host that waits for descriptors waits for ever
				select {
				case err := <-ended:
					if err == nil || said.String() == "" {
						t.Errorf("the host ended with %v and said %q", err, said.String())
					}
				case <-tick.C:
					if !b.done() {
						continue
					}
					_ = host.Process.Signal(syscall.SIGTERM)
					<-ended
				case <-deadline:
					_ = host.Process.Kill()
					<-ended
					if said.String() == "" {
						t.Error("the host neither carries anything nor says why")
					}
				}
				break
			}
			for _, f := range b.settled() {
				t.Errorf("%s; the host before said: %s", f, said.String())
			}
		})
	}
}
