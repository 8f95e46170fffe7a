package spool

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/internal/need"
	"github.com/longshore-bridge/longshore/ipc"
)

// leaseEnv names the files on which the child process of a test takes leases.
const leaseEnv = "LONGSHORE_TEST_LEASE"

// TestLeaseHolder is no test but the container's part in those below: a process
// that takes leases on files and gives them up when its input ends.
func TestLeaseHolder(t *testing.T) {
	paths := os.Getenv(leaseEnv)
	if paths == "" {
		t.Skip("it is run by other tests")
	}
	for path := range strings.SplitSeq(paths, "\n") {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
			fmt.Println("refused:", err)
			return
		}
	}
	fmt.Println("held")
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// lease has another process hold a lease on each file until release is called.
func lease(t *testing.T, paths ...string) (release func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestLeaseHolder$")
	cmd.Env = append(os.Environ(), leaseEnv+"="+strings.Join(paths, "\n"))
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
	release = sync.OnceFunc(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	t.Cleanup(release)
	said, err := bufio.NewReader(out).ReadString('\n')
	if err == nil && strings.HasPrefix(said, "refused") {
		need.Lacking(t, "take leases in its temporary directory: %s", said)
	}
	if err != nil || said != "held\n" {
		t.Fatalf("the lease's holder said %q: %v", said, err)
	}
	return release
}

func request(dir, folder, name string) string {
	return filepath.Join(dir, folder, ipc.MessagesDir, name)
}

// A container takes a lease on one of its request files: an open without
// O_NONBLOCK would wait for 45 s, and with it fails.
func TestALeaseOnOneRequestDoesNotStopTheOthers(t *testing.T) {
	t.Parallel() // it waits for seconds
	dir := prepare(t, "fam")
	drop(t, dir, "fam", "a.json", hello)
	for i := range 3 {
		drop(t, dir, "fam", name(i), hello)
	}
	release := lease(t, request(dir, "fam", name(0)))
	q := serve(t, dir, Options{Folders: []string{"fam"}, Poll: true})
	for _, want := range []string{"000001", "000002", "a"} {
		if d := q.next(); d.ID != want {
			t.Errorf("%s came, want %s", d.ID, want)
		}
	}
	for _, want := range []string{"b", "c", "d"} { // one by one
		drop(t, dir, "fam", want+".json", hello)
		if d := q.next(); d.ID != want {
			t.Errorf("%s came, want %s", d.ID, want)
		}
	}
	if r := q.result("fam", "000000", ipc.Queued); r.Code != ipc.CodeBusy || r.Message == "" {
		t.Errorf("result %+v", r)
	}
	release()
	if d := q.next(); d.ID != "000000" {
		t.Errorf("%s came after the lease was given up", d.ID)
	}
}

// The kernel takes a lease away after 45 s; a container may take it again.
func TestALeaseForEverEndsInARefusal(t *testing.T) {
	dir := prepare(t, "fam")
	drop(t, dir, "fam", "a.json", hello)
	drop(t, dir, "fam", "b.json", hello)
	lease(t, request(dir, "fam", "a.json"))
	synctest.Test(t, func(t *testing.T) {
		q := serve(t, dir, Options{Folders: []string{"fam"}, Poll: true})
		defer q.stop()
		time.Sleep(maxBusy - time.Second)
		if _, err := os.Lstat(request(dir, "fam", "a.json")); err != nil {
			t.Errorf("before its time: %v", err)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if d := <-q.got; d.ID != "b" {
			t.Errorf("%s was handed out", d.ID)
		}
		r, err := ipc.NewClient(filepath.Join(dir, "fam")).Status("a")
		if err != nil || r.Status != ipc.Refused || r.Code != ipc.CodeBusy || r.Hint == "" {
			t.Errorf("result %+v, %v", r, err)
		}
		entries := q.entries()
		if len(entries) != 1 || entries[0].Request != "a" || entries[0].Code != ipc.CodeBusy || entries[0].Attempts < 2 {
			t.Errorf("errors folder: %+v", entries)
		}
		if left := waitingIn(t, dir, "fam"); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// A request that had to wait for room for long is not refused at the first
// lease.
func TestALeaseAfterALongWaitIsNotRefusedAtOnce(t *testing.T) {
	dir := prepare(t, "fam")
	drop(t, dir, "fam", "a.json", hello)
	synctest.Test(t, func(t *testing.T) {
		q := serve(t, dir, Options{Folders: []string{"fam"}, Poll: true}, func(b *Batch) { b.Defer(b.Items[0], refuse("quota", "", "")) })
		defer q.stop()
		time.Sleep(2 * maxBusy)
		synctest.Wait()
		lease(t, request(dir, "fam", "a.json"))
		time.Sleep(3 * time.Second)
		synctest.Wait()
		r, err := ipc.NewClient(filepath.Join(dir, "fam")).Status("a")
		if err != nil || r.Status != ipc.Queued || r.Code != ipc.CodeBusy {
			t.Errorf("result %+v, %v", r, err)
		}
	})
}

// The log had a line of each leased request at each look.
func TestLeasesDoNotFillTheLog(t *testing.T) {
	const leases = 20
	dir := prepare(t, "fam")
	var paths []string
	for i := range leases {
		drop(t, dir, "fam", name(i), hello)
		paths = append(paths, request(dir, "fam", name(i)))
	}
	lease(t, paths...)
	synctest.Test(t, func(t *testing.T) {
		q := serve(t, dir, Options{Folders: []string{"fam"}, Poll: true})
		defer q.stop()
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		log := q.log.String()
		if n := strings.Count(log, "cannot be read"); n > 2*(maxLines+1) {
			t.Errorf("%d lines of %d leases", n, leases)
		}
		if !strings.Contains(log, "more lines like this were left out") {
			t.Errorf("the log does not say how many lines were left out:\n%s", log)
		}
	})
}

// A container that renames faster than the host listens makes one overflow
// after another; each was a line of the log.
func TestWatcherOverflowsDoNotFillTheLog(t *testing.T) {
	const overflows = 5 * maxLines
	log := &lockedBuffer{}
	s := New(Options{Dir: prepare(t, "fam"), Folders: []string{"fam"}, Log: slog.New(slog.NewTextHandler(log, nil))})
	defer s.Close()
	synctest.Test(t, func(t *testing.T) {
		w := &fsnotify.Watcher{Errors: make(chan error)}
		go func() {
			for range overflows {
				w.Errors <- fsnotify.ErrEventOverflow
			}
			close(w.Errors)
		}()
		s.follow(t.Context(), w)
		if n := strings.Count(log.String(), "lost events"); n != maxLines {
			t.Errorf("%d lines of %d overflows", n, overflows)
		}
		time.Sleep(time.Minute)
		s.lookRound(0)
		if want := fmt.Sprintf("count=%d", overflows-maxLines); !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %s:\n%s", want, log)
		}
	})
}
