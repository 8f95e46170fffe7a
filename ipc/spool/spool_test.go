package spool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/ipc"
)

func TestRequestIsHandedOutOnceAndUnlinked(t *testing.T) {
	dir := prepare(t, "fam")
	var mu sync.Mutex
	var steps []string
	q := serve(t, dir, Options{Folders: []string{"fam"}, Rescan: time.Hour, Trace: func(folder, request, step string) {
		mu.Lock()
		defer mu.Unlock()
		steps = append(steps, folder+" "+request+" "+step)
	}})
	drop(t, dir, "fam", "a.json", hello)
	d := q.next()
	if d.Folder != "fam" || d.Name != "a.json" || d.ID != "a" || string(d.Body) != hello || d.Request.Text != "hello" || d.ModTime.IsZero() {
		t.Errorf("got %+v", d)
	}
	q.stop()
	if left := waitingIn(t, dir, "fam"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if len(q.got) > 0 {
		t.Errorf("handed out again")
	}
	if diff := cmp.Diff([]string{"fam a read", "fam a unlinked"}, steps); diff != "" {
		t.Error(diff)
	}
}

func TestWhatWaitedIsFoundAtStart(t *testing.T) {
	dir := prepare(t, "fam")
	for i := range 300 {
		drop(t, dir, "fam", name(i), hello)
	}
	q := serve(t, dir, Options{Folders: []string{"fam"}, Rescan: time.Hour})
	for i := range 300 {
		if d := q.next(); d.Name != name(i) {
			t.Fatalf("request %d is %s: not in the order of names", i, d.Name)
		}
	}
}

func TestRequestsOfForksInFilesAreRead(t *testing.T) {
	dir := prepare(t, "fam")
	q := serve(t, dir, Options{Folders: []string{"fam"}})
	body := `{"type":"send_files","files":[{"path":"/workspace/group/a.pdf","name":"b.pdf"}]}`
	files := filepath.Join(dir, "fam", ipc.FilesDir)
	if err := os.WriteFile(filepath.Join(files, "x.tmp"), []byte(body), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(files, "x.tmp"), filepath.Join(files, "x.json")); err != nil {
		t.Fatal(err)
	}
	d := q.next()
	if d.Name != "files/x.json" || d.ID != "x" || d.Request.Files[0].Name != "b.pdf" {
		t.Errorf("got %+v", d)
	}
	q.stop()
	if _, err := os.Lstat(filepath.Join(files, "x.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
}

func TestNoHalfRequestIsEverSeen(t *testing.T) {
	dir := prepare(t, "fam")
	q := serve(t, dir, Options{Folders: []string{"fam"}})
	c := ipc.NewClient(filepath.Join(dir, "fam"))
	const writers, each = 4, 50
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				if _, err := c.Enqueue(t.Context(), ipc.Request{Type: ipc.TypeMessage, Text: strings.Repeat("x", 50_000)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for range writers * each {
		if d := q.next(); len(d.Request.Text) != 50_000 {
			t.Fatalf("half a request: %d bytes", len(d.Request.Text))
		}
	}
	if e := q.entries(); len(e) > 0 {
		t.Errorf("errors: %+v", e)
	}
}

func TestLostEventsCostLatencyOnly(t *testing.T) {
	dir := prepare(t, "fam")
	synctest.Test(t, func(t *testing.T) {
		q := serve(t, dir, Options{Folders: []string{"fam"}, Poll: true})
		defer q.stop()
		time.Sleep(time.Minute) // the bubble's time
		drop(t, dir, "fam", "a.json", hello)
		start := time.Now()
		if d := q.next(); d.ID != "a" {
			t.Errorf("got %s", d.ID)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestWithoutInotifyPollingCarriesOn(t *testing.T) {
	dir := prepare(t, "fam")
	q := serve(t, dir, Options{Folders: []string{"fam"}, watcher: func() (*fsnotify.Watcher, error) {
		return nil, errors.New("too many open files")
	}})
	drop(t, dir, "fam", "a.json", hello)
	q.next()
	if !strings.Contains(q.log.String(), "polling") {
		t.Errorf("the log does not say so: %s", q.log)
	}
}

func TestOverflowLosesNothing(t *testing.T) {
	dir := prepare(t, "fam")
	var w *fsnotify.Watcher
	q := serve(t, dir, Options{Folders: []string{"fam"}, Rescan: time.Hour, watcher: func() (*fsnotify.Watcher, error) {
		var err error
		w, err = fsnotify.NewWatcher()
		return w, err
	}})
	drop(t, dir, "fam", "a.json", hello)
	q.next()
	// The watch is gone, and with it every event; the overflow is all there is.
	if err := w.Remove(filepath.Join(dir, "fam", ipc.MessagesDir)); err != nil {
		t.Fatal(err)
	}
	for i := range 500 {
		drop(t, dir, "fam", name(i), hello)
	}
	w.Errors <- fsnotify.ErrEventOverflow
	for range 500 {
		q.next()
	}
	drop(t, dir, "fam", "b.json", hello) // watched again
	q.next()
}

func TestDirectoryDeletedAndMadeAgainIsWatchedAgain(t *testing.T) {
	dir := prepare(t, "fam")
	q := serve(t, dir, Options{Folders: []string{"fam"}, Rescan: 50 * time.Millisecond})
	messages := filepath.Join(dir, "fam", ipc.MessagesDir)
	for i := range 5 {
		drop(t, dir, "fam", fmt.Sprintf("a%d.json", i), hello)
		q.next()
		if err := os.RemoveAll(messages); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(messages, 0o777); err != nil {
			t.Fatal(err)
		}
		drop(t, dir, "fam", fmt.Sprintf("b%d.json", i), hello)
		q.next()
	}
}

func TestDirectorySwappedForALinkReachesNoOtherGroup(t *testing.T) {
	dir := prepare(t, "evil", "victim")
	q := serve(t, dir, Options{Folders: []string{"evil"}, Rescan: 20 * time.Millisecond})
	drop(t, dir, "evil", "a.json", hello)
	q.next()
	messages := filepath.Join(dir, "evil", ipc.MessagesDir)
	if err := os.Rename(messages, messages+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../victim/messages", messages); err != nil {
		t.Fatal(err)
	}
	drop(t, dir, "victim", "secret.json", hello)
	for !strings.Contains(q.log.String(), "messages is no directory") {
		q.look(q.all()["evil"], true)
		if len(q.got) > 0 {
			t.Fatal("another group's request was read")
		}
	}
	if err := os.Remove(messages); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(messages, 0o777); err != nil {
		t.Fatal(err)
	}
	q.none("evil")
	if left := waitingIn(t, dir, "victim"); !slices.Equal(left, []string{"secret.json"}) {
		t.Errorf("the other group's queue: %v", left)
	}
}

func TestRequestThatCannotBeUnlinkedIsNotHandedOutAgain(t *testing.T) {
	dir := prepare(t, "fam")
	q := serve(t, dir, Options{Folders: []string{"fam"}, Rescan: time.Hour})
	g := q.all()["fam"]
	g.mu.Lock()
	g.handled = map[string]struct{}{"a.json": {}} // as after an unlink that was denied
	g.mu.Unlock()
	drop(t, dir, "fam", "a.json", hello)
	q.look(g, true)
	q.none("fam")
}

func TestNewRequestUnderAHandledNameIsKept(t *testing.T) {
	dir := prepare(t, "fam")
	replaced := sync.OnceFunc(func() { drop(t, dir, "fam", "a.json", `{"type":"message","text":"second"}`) })
	got := make(chan *Item, 300)
	q := serve(t, dir, Options{Folders: []string{"fam"}, Rescan: time.Hour}, func(b *Batch) {
		replaced()
		accept(got, b)
	})
	q.got = got
	drop(t, dir, "fam", "a.json", hello)
	q.next()
	if d := q.next(); d.Request.Text != "second" {
		t.Errorf("got %q", d.Request.Text)
	}
}

func TestThousandsOfNames(t *testing.T) { takesNames(t, 5_000) }

// takesNames has a queue hold so many requests at the start.
func takesNames(t *testing.T, n int) {
	dir := prepareFast(t, "fam")
	messages := filepath.Join(dir, "fam", ipc.MessagesDir)
	for i := range n {
		if err := os.WriteFile(filepath.Join(messages, name(i)), []byte(hello), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	q := serve(t, dir, Options{Folders: []string{"fam"}})
	for i := range n {
		if d := q.next(); d.Name != name(i) {
			t.Fatalf("request %d is %s", i, d.Name)
		}
	}
	q.stop()
	if left := waitingIn(t, dir, "fam"); len(left) > 0 || len(q.got) > 0 {
		t.Errorf("%d left, %d handed out again", len(left), len(q.got))
	}
}

func TestWithdrawnRequestNoLongerStands(t *testing.T) {
	dir := prepare(t, "fam")
	c := ipc.NewClient(filepath.Join(dir, "fam"))
	id, err := c.Enqueue(t.Context(), ipc.Request{Type: ipc.TypeMessage, Text: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	serve(t, dir, Options{Folders: []string{"fam"}}, func(b *Batch) {
		defer close(done)
		it := b.Items[0]
		if b.Withdrawn(it) {
			t.Error("withdrawn before it was")
		}
		for _, want := range []bool{true, false} {
			if got, err := c.Withdraw(id); got != want || err != nil {
				t.Errorf("Withdraw: %v, %v, want %v", got, err, want)
			}
		}
		if !b.Withdrawn(it) {
			t.Error("stands after it was withdrawn")
		}
		b.Remove(it)
	})
	<-done
}

// A host without descriptors took every request for withdrawn, and removed it
// without a result.
func TestARequestThatCannotBeLookedForStillStands(t *testing.T) {
	dir := prepare(t, "fam")
	drop(t, dir, "fam", "a.json", hello)
	done := make(chan struct{})
	serve(t, dir, Options{Folders: []string{"fam"}}, func(b *Batch) {
		defer close(done)
		b.group.dirs.close()
		var before syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Max: before.Max}); err != nil {
			t.Error(err)
		}
		withdrawn := b.Withdrawn(b.Items[0])
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
		if withdrawn {
			t.Error("withdrawn, and it is there")
		}
		b.Remove(b.Items[0])
	})
	<-done
}

// The client unlinked a request that the host had just recorded, and said that
// nothing was sent.
func TestARequestThatIsRecordedWhileItIsWithdrawnIsNotCalledWithdrawn(t *testing.T) {
	dir := prepare(t, "fam")
	c := ipc.NewClient(filepath.Join(dir, "fam"))
	id, err := c.Enqueue(t.Context(), ipc.Request{Type: ipc.TypeMessage, Text: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	recorded := make(chan *queue, 1)
	q := serve(t, dir, Options{Folders: []string{"fam"}}, func(b *Batch) {
		q := <-recorded
		answer := make(chan bool, 1)
		go func() {
			gone, err := c.Withdraw(id)
			if err != nil {
				t.Error(err)
			}
			answer <- gone
		}()
		for !b.Withdrawn(b.Items[0]) { // until the client has unlinked it, after the record
			runtime.Gosched()
		}
		b.Remove(b.Items[0])
		if err := q.WriteResult("fam", ipc.Result{ID: id, Status: ipc.Queued, Channel: "web"}); err != nil {
			t.Error(err)
		}
		if <-answer {
			t.Error("the client says that nothing was sent")
		}
	})
	recorded <- q
	q.result("fam", id, ipc.Queued)
	q.stop()
}

func TestNoBatchIsHandedOutAfterTheEnd(t *testing.T) {
	dir := prepare(t, "fam")
	drop(t, dir, "fam", "a.json", hello)
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Dir: dir, Folders: []string{"fam"}, Poll: true})
		defer s.Close()
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- s.Run(ctx) }()
		b, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		waiting := make(chan error, 1)
		go func() {
			_, err := s.Next(t.Context())
			waiting <- err
		}()
		cancel()
		if err := <-waiting; !errors.Is(err, ErrStopped) {
			t.Errorf("who waited is answered %v", err)
		}
		synctest.Wait()
		if len(ran) > 0 {
			t.Error("Run did not wait for a batch")
		}
		b.Remove(b.Items[0])
		b.Done()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		if left := waitingIn(t, dir, "fam"); len(left) > 0 {
			t.Errorf("accepted, and not unlinked: %v", left)
		}
		if _, err := s.Next(t.Context()); !errors.Is(err, ErrStopped) {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestQuietGroupIsStillLookedAt(t *testing.T) {
	dir := prepare(t, "a", "b")
	s := New(Options{Dir: dir, Folders: []string{"a", "b"}})
	defer s.Close()
	w := s.openWatcher()
	defer w.Close()
	for _, g := range s.all() {
		s.list(g)
		g.stamps[inMessages].at = time.Now().Add(-time.Hour).UnixNano()
		drop(t, dir, g.folder, "a.json", hello) // nobody reads the watcher's events
		g.dirs.used.Store(false)
	}
	for round := range 4 {
		s.lookRound(round)
	}
	if readyGroups(s) != 2 {
		t.Errorf("%d of 2 groups found in four rounds", readyGroups(s))
	}
}

func TestRefusalIsKeptWithItsHistory(t *testing.T) {
	dir := prepare(t, "fam")
	got := make(chan *Item, 10)
	full := true
	q := serve(t, dir, Options{Folders: []string{"fam"}}, func(b *Batch) {
		if full {
			full = false
			return // what is not decided comes again
		}
		if b.Items[0].ID == "a" {
			b.Refuse(b.Items[0], &ipc.Refusal{Code: "chat_not_allowed", Message: "not yours", Hint: "use your own"})
			return
		}
		accept(got, b)
	})
	q.got = got
	drop(t, dir, "fam", "a.json", hello)
	q.result("fam", "a", ipc.Queued)
	q.Wake("fam")
	if r := q.result("fam", "a", ipc.Refused); r.Code != "chat_not_allowed" {
		t.Errorf("result %+v", r)
	}
	q.none("fam")
	x := q.entries()
	if len(x) != 1 || x[0].Attempts != 2 || x[0].Hint != "use your own" || !x[0].First.Before(x[0].Last) {
		t.Errorf("entries %+v", x)
	}
}

func TestWhatCannotBePutAsideStaysInTheQueue(t *testing.T) {
	dir := prepare(t, "fam", "other")
	if err := os.Remove(filepath.Join(dir, ipc.ErrorsDir)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ipc.ErrorsDir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	drop(t, dir, "fam", "a.json", "{")
	drop(t, dir, "fam", "b.json", hello)
	q := serve(t, dir, Options{Folders: []string{"fam", "other"}, Rescan: time.Hour, Restore: restore(dir)})
	if d := q.next(); d.ID != "b" {
		t.Errorf("got %s", d.ID)
	}
	q.none("other")
	if err := os.Remove(filepath.Join(dir, ipc.ErrorsDir)); err != nil {
		t.Fatal(err)
	}
	q.Wake("fam")
	q.result("fam", "a", ipc.Refused)
	q.stop()
	if left := waitingIn(t, dir, "fam"); len(left) > 0 || len(q.entries()) != 1 {
		t.Errorf("left %v, entries %v", left, q.entries())
	}
}

func TestDirectoriesThatVanishedAreMadeAgainForWhatIsWritten(t *testing.T) {
	for _, gone := range []string{"fam/results", "fam"} {
		dir := prepare(t, "fam")
		s := New(Options{Dir: dir, Folders: []string{"fam"}, Restore: restore(dir)})
		left := New(Options{Dir: dir, Folders: []string{"fam"}})
		for i := range 2 { // at first with nothing held open, then with a directory that is no more
			id := strconv.Itoa(i)
			if err := os.RemoveAll(filepath.Join(dir, gone)); err != nil {
				t.Fatal(err)
			}
			if err := left.WriteResult("fam", ipc.Result{ID: id, Status: ipc.Sent}); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is gone, and nobody restores it: %v", gone, err)
			}
			if err := s.WriteResult("fam", ipc.Result{ID: id, Status: ipc.Sent}); err != nil {
				t.Errorf("%s is gone, time %d: %v", gone, i, err)
			}
			if r, err := ipc.NewClient(filepath.Join(dir, "fam")).Status(id); err != nil || r.Status != ipc.Sent {
				t.Errorf("%s was gone, time %d: %+v, %v", gone, i, r, err)
			}
		}
		if err := errors.Join(s.Close(), left.Close()); err != nil {
			t.Error(err)
		}
	}
}

// What waits at a start made its queue change last, and came after thousands that
// were empty.
func TestTheQueueThatChangedLastIsListedFirst(t *testing.T) {
	folders := []string{"a", "b", "c", "d", "e"}
	dir := prepare(t, folders...)
	now := time.Now()
	for i, age := range []int{4, 1, 5, 2, 3} {
		changed := now.Add(time.Duration(-age) * time.Minute)
		if err := os.Chtimes(filepath.Join(dir, folders[i], ipc.MessagesDir), changed, changed); err != nil {
			t.Fatal(err)
		}
	}
	s := New(Options{Dir: dir, Folders: append(folders, "gone")})
	s.lookAtAll()
	var order []string
	for g := s.ready.next(); g != nil; g = s.ready.next() {
		order = append(order, g.folder)
	}
	if want := []string{"b", "d", "e", "a", "c", "gone"}; !slices.Equal(order, want) {
		t.Errorf("listed in the order %q, want %q", order, want)
	}
}

// Thousands of quiet groups cost a bounded number of looks in each round; a group
// to which something happened is among them until it is quiet again.
func TestARoundLooksAtFewOfManyQuietGroups(t *testing.T) {
	const many = 10 * maxQuiet
	folders := make([]string, many)
	for i := range folders {
		folders[i] = fmt.Sprintf("g%d", i)
	}
	s := New(Options{Dir: t.TempDir(), Folders: folders})
	if due := s.due(0); len(due) != many {
		t.Errorf("without events, %d of %d groups are checked", len(due), many)
	}
	w := s.openWatcher()
	defer w.Close()
	seen := map[*group]int{}
	for round := range 10 {
		due := s.due(round)
		if len(due) != maxQuiet {
			t.Errorf("round %d checks %d groups", round, len(due))
		}
		for _, g := range due {
			seen[g]++
		}
	}
	if len(seen) != many {
		t.Errorf("ten rounds checked %d of %d groups", len(seen), many)
	}
	g := s.all()["g0"]
	s.rouse(g)
	g.dirs.used.Store(true)
	for round := range 2 {
		if !slices.Contains(s.due(5+round), g) {
			t.Error("a group with open directories is not checked in each round")
		}
	}
	g.dirs.used.Store(false)
	if !slices.Contains(s.due(5), g) || slices.Contains(s.due(6), g) {
		t.Error("a quiet group is to be checked once more, and then in its turn")
	}
}

// readyGroups is how many groups have a request.
func readyGroups(s *Spool) int {
	s.ready.mu.Lock()
	defer s.ready.mu.Unlock()
	return len(s.ready.groups)
}
