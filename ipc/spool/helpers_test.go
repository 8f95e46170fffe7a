package spool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/internal/fstest"
	"github.com/longshore-bridge/longshore/ipc"
)

func TestMain(m *testing.M) {
	fstest.Memory()
	goleak.VerifyTestMain(m)
}

const hello = `{"type":"message","text":"hello"}`

// queue is a queue directory with a running spool.
//
// A test with a worker of its own sets got afterwards.
type queue struct {
	*Spool
	t    testing.TB
	dir  string
	log  *lockedBuffer
	got  chan *Item // what was handed out and accepted
	stop func()
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func prepare(t testing.TB, folders ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ipc")
	if err := makeQueue(dir, folders); err != nil {
		t.Fatal(err)
	}
	return dir
}

// prepareFast is prepare in memory where there is a place for it, for tests
// with very many files that ask nothing of the disk.
func prepareFast(t testing.TB, folders ...string) string {
	t.Helper()
	tmp, err := os.MkdirTemp("/dev/shm", "longshore")
	if err != nil {
		return prepare(t, folders...)
	}
	t.Cleanup(func() { os.RemoveAll(tmp) })
	dir := filepath.Join(tmp, "ipc")
	if err := makeQueue(dir, folders); err != nil {
		t.Fatal(err)
	}
	return dir
}

// serve runs a spool with a goroutine for each worker, which is given each
// batch that it takes. Without one everything is accepted and sent to got.
func serve(t testing.TB, dir string, o Options, workers ...func(*Batch)) *queue {
	t.Helper()
	q := &queue{t: t, dir: dir, log: &lockedBuffer{}, got: make(chan *Item, 200_000)}
	o.Dir = dir
	if len(workers) == 0 {
		got := q.got
		one := func(b *Batch) { accept(got, b) }
		workers = append(workers, one, one, one, one)
	}
	o.Log = slog.New(slog.NewTextHandler(q.log, nil))
	q.Spool = New(o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- q.Run(ctx) }()
	var working sync.WaitGroup
	for _, take := range workers {
		working.Go(func() { q.work(ctx, take) })
	}
	q.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		working.Wait()
		q.Close()
	})
	t.Cleanup(q.stop)
	return q
}

func (q *queue) work(ctx context.Context, take func(*Batch)) {
	for {
		b, err := q.Next(ctx)
		if err != nil {
			return
		}
		take(b)
		b.Done()
	}
}

func accept(got chan<- *Item, b *Batch) {
	for _, it := range b.Items {
		got <- it
		b.Remove(it)
	}
}

// drop renames a request into place.
func drop(t testing.TB, dir, folder, name, body string) {
	t.Helper()
	tmp := filepath.Join(dir, folder, ipc.MessagesDir, ".tmp"+name)
	if err := os.WriteFile(tmp, []byte(body), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(tmp, filepath.Join(dir, folder, ipc.MessagesDir, name)); err != nil {
		t.Fatal(err)
	}
}

func (q *queue) next() *Item {
	q.t.Helper()
	select {
	case d := <-q.got:
		return d
	case <-time.After(time.Minute):
		q.t.Fatalf("no request came\n%s", q.log)
		panic("unreachable")
	}
}

// none fails if anything was handed out until a request dropped now has come.
func (q *queue) none(folder string) {
	q.t.Helper()
	drop(q.t, q.dir, folder, "zz-last.json", hello)
	if d := q.next(); d.ID != "zz-last" {
		q.t.Errorf("%s was handed out", d.Name)
	}
}

// result waits until the result of a request has a status.
func (q *queue) result(folder, id string, want ipc.Status) ipc.Result {
	q.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := ipc.NewClient(filepath.Join(q.dir, folder))
	hit := make(chan ipc.Result, 1)
	_, err := c.Wait(ctx, id, func(r ipc.Result) {
		if r.Status == want && !r.Time.IsZero() {
			select {
			case hit <- r:
			default:
			}
			cancel()
		}
	})
	if err != nil {
		q.t.Fatal(err)
	}
	select {
	case r := <-hit:
		return r
	default:
		q.t.Fatalf("request %s never became %s\n%s", id, want, q.log)
		panic("unreachable")
	}
}

func (q *queue) entries() []Quarantined {
	q.t.Helper()
	all, err := ListErrors(q.dir)
	if err != nil {
		q.t.Fatal(err)
	}
	return all
}

func waitingIn(t testing.TB, dir, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, folder, ipc.MessagesDir))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if ipc.IsRequest(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return slices.Sorted(slices.Values(names))
}

func name(i int) string { return fmt.Sprintf("%06d.json", i) }

// makeQueue makes the directories that a host has made before its spool runs.
func makeQueue(dir string, folders []string) error {
	for _, folder := range folders {
		if err := restore(dir)(folder); err != nil {
			return err
		}
	}
	return nil
}

// restore makes the directories of a group as a host does, whose user is the
// container's.
func restore(dir string) func(folder string) error {
	return func(folder string) error {
		err := os.MkdirAll(filepath.Join(dir, ipc.ErrorsDir), 0o700)
		for _, leaf := range []string{ipc.MessagesDir, ipc.FilesDir, ipc.ResultsDir, ipc.InputDir, ipc.ContextDir} {
			err = errors.Join(err, os.MkdirAll(filepath.Join(dir, folder, leaf), 0o755))
		}
		return err
	}
}
