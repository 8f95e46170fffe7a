package spool

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/ipc"
)

const benchRequest = `{
  "type": "file",
  "chatJid": "120363000000000000@g.us",
  "groupFolder": "family",
  "filePath": "/workspace/group/reports/q3.pdf",
  "fileName": "Report Q3.pdf",
  "mimeType": "application/pdf",
  "caption": "the third quarter",
  "timestamp": "2026-01-01T00:00:00.000Z"
}
`

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// rawWatch reads inotify events with nothing around them.
func rawWatch(b *testing.B, dir string) <-chan time.Time {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_MOVED_TO|unix.IN_DELETE_SELF); err != nil {
		b.Fatal(err)
	}
	seen := make(chan time.Time, 1)
	go func() {
		defer close(seen)
		defer unix.Close(fd)
		buf := make([]byte, 64<<10)
		for {
			n, err := unix.Read(fd, buf)
			now := time.Now()
			if _, gone := os.Lstat(dir); err != nil || n <= 0 || gone != nil {
				return
			}
			seen <- now
		}
	}()
	b.Cleanup(func() {
		os.RemoveAll(dir)
		for range seen {
		}
	})
	return seen
}

// BenchmarkDropToNext is the time from a rename to the batch that Next hands
// out, beside that from a rename to a bare inotify event.
func BenchmarkDropToNext(b *testing.B) {
	dir := prepare(b, "fam")
	raw := filepath.Join(b.TempDir(), "raw")
	if err := os.Mkdir(raw, 0o755); err != nil {
		b.Fatal(err)
	}
	event := rawWatch(b, raw)
	called := make(chan time.Time, 1)
	taken := make(chan *Item, 1<<20)
	serve(b, dir, Options{Folders: []string{"fam"}}, func(batch *Batch) {
		called <- time.Now()
		accept(taken, batch)
	})
	var ours, floor []time.Duration
	rename := func(to string, seen <-chan time.Time) time.Duration {
		tmp := filepath.Join(filepath.Dir(raw), "tmp")
		if err := os.WriteFile(tmp, []byte(benchRequest), 0o644); err != nil {
			b.Fatal(err)
		}
		<-time.After(2 * time.Millisecond) // the same gap for both: everybody sleeps
		start := time.Now()
		if err := os.Rename(tmp, to); err != nil {
			b.Fatal(err)
		}
		return (<-seen).Sub(start)
	}
	i := 0
	for b.Loop() {
		i++
		floor = append(floor, rename(filepath.Join(raw, name(i)), event))
		ours = append(ours, rename(filepath.Join(dir, "fam", ipc.MessagesDir, name(i)), called))
	}
	report(b, "p50", median(ours), median(floor))
}

func report(b *testing.B, what string, ours, floor time.Duration) {
	b.ReportMetric(micros(ours), what+"-µs")
	b.ReportMetric(micros(floor), what+"-floor-µs")
	b.ReportMetric(float64(ours)/float64(floor), what+"-ratio")
	b.ReportMetric(0, "ns/op")
}

func fill(b *testing.B, dir string, folders []string, n int) {
	b.Helper()
	for i := range n {
		path := filepath.Join(dir, folders[i%len(folders)], ipc.MessagesDir, name(i))
		if err := os.WriteFile(path, []byte(benchRequest), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	// As a client writes them: unlinking what is on the disk costs more.
	f, err := os.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		b.Fatal(err)
	}
}

// drainRaw reads, parses and unlinks one after the other.
func drainRaw(b *testing.B, dir string, folders []string) time.Duration {
	b.Helper()
	start := time.Now()
	for _, folder := range folders {
		messages := filepath.Join(dir, folder, ipc.MessagesDir)
		entries, err := os.ReadDir(messages)
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range entries {
			path := filepath.Join(messages, e.Name())
			body, err := os.ReadFile(path)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := ipc.Decode(body); err != nil {
				b.Fatal(err)
			}
			if err := os.Remove(path); err != nil {
				b.Fatal(err)
			}
		}
	}
	return time.Since(start)
}

// drain runs a spool over what waits: the time to the last batch, and to the
// last unlink.
func drain(b *testing.B, dir string, folders []string, n int) (dispatched, cleaned time.Duration) {
	b.Helper()
	start := time.Now()
	q := serve(b, dir, Options{Folders: folders})
	for range n {
		q.next()
	}
	dispatched = time.Since(start)
	q.stop()
	return dispatched, time.Since(start)
}

// BenchmarkDrain10k empties a backlog, beside reading, parsing and unlinking
// one file after the other. Ratios above 1 are faster than that.
func BenchmarkDrain10k(b *testing.B) {
	for _, groups := range []int{1, 100} {
		b.Run(fmt.Sprint(groups), func(b *testing.B) {
			const n = 10_000
			folders := make([]string, groups)
			for i := range folders {
				folders[i] = fmt.Sprintf("g%d", i)
			}
			var dispatch, clean, floor []time.Duration
			for b.Loop() {
				dir := prepare(b, folders...)
				fill(b, dir, folders, n)
				floor = append(floor, drainRaw(b, dir, folders))
				fill(b, dir, folders, n)
				d, c := drain(b, dir, folders, n)
				dispatch, clean = append(dispatch, d), append(clean, c)
			}
			rate := func(d time.Duration) float64 { return n / d.Seconds() }
			b.ReportMetric(rate(median(dispatch)), "dispatch/s")
			b.ReportMetric(rate(median(clean)), "cleaned/s")
			b.ReportMetric(rate(median(floor)), "floor/s")
			b.ReportMetric(float64(median(floor))/float64(median(dispatch)), "dispatch-x-floor")
			b.ReportMetric(float64(median(floor))/float64(median(clean)), "cleaned-x-floor")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkIdle is the processor time of a minute's rescans when nothing
// happens (twelve of them), beside a poller that lists every directory each second.
func BenchmarkIdle(b *testing.B) {
	for _, groups := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprint(groups), func(b *testing.B) {
			folders := make([]string, groups)
			for i := range folders {
				folders[i] = fmt.Sprintf("g%d", i)
			}
			dir := prepareFast(b, folders...)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			s := New(Options{Dir: dir, Folders: folders})
			defer s.Close()
			w := s.openWatcher()
			if w == nil {
				b.Fatal("no watcher")
			}
			defer w.Close()
			past := time.Now().Add(-time.Hour)
			for _, g := range s.all() {
				for _, d := range []string{ipc.MessagesDir, ipc.FilesDir} {
					if err := os.Chtimes(filepath.Join(dir, g.folder, d), past, past); err != nil {
						b.Fatal(err)
					}
				}
				s.list(g)
				g.stamps[inMessages].at = past.Add(time.Minute).UnixNano()
				g.stamps[inFiles].at = past.Add(time.Minute).UnixNano()
			}
			for round := range 8 {
				s.lookRound(round) // whatever was open is closed
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			var ours, floor []time.Duration
			for b.Loop() {
				start := time.Now()
				for round := range 12 {
					s.lookRound(round)
				}
				ours = append(ours, time.Since(start))
				if readyGroups(s) > 0 {
					b.Fatal("a quiet group is to be listed")
				}
				start = time.Now()
				for _, folder := range folders {
					if _, err := os.ReadDir(filepath.Join(dir, folder, ipc.MessagesDir)); err != nil {
						b.Fatal(err)
					}
				}
				floor = append(floor, 60*time.Since(start))
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(groups), "B/group")
			b.ReportMetric(float64(median(ours))/float64(10*time.Millisecond), "ticks/min")
			report(b, "minute", median(ours), median(floor))
		})
	}
}

// BenchmarkOverflow drains 10,000 requests whose events were all lost, beside
// listing and draining by hand.
func BenchmarkOverflow(b *testing.B) {
	const n = 10_000
	folders := []string{"fam"}
	var ours, floor []time.Duration
	for b.Loop() {
		dir := prepare(b, folders...)
		fill(b, dir, folders, n)
		floor = append(floor, drainRaw(b, dir, folders))
		var w *fsnotify.Watcher
		q := serve(b, dir, Options{
			Folders: folders, Rescan: time.Hour,
			watcher: func() (_ *fsnotify.Watcher, err error) {
				w, err = fsnotify.NewWatcher()
				return w, err
			},
		})
		drop(b, dir, "fam", "first.json", benchRequest)
		q.next()
		if err := w.Remove(filepath.Join(dir, "fam", ipc.MessagesDir)); err != nil {
			b.Fatal(err)
		}
		fill(b, dir, folders, n)
		start := time.Now()
		w.Errors <- fsnotify.ErrEventOverflow
		for range n {
			q.next()
		}
		q.stop()
		ours = append(ours, time.Since(start))
		if len(q.got) > 0 {
			b.Fatalf("%d handed out twice", len(q.got))
		}
	}
	report(b, "drain", median(ours), median(floor))
}

// BenchmarkChurn is what a producer pays for create and rename after many
// requests have come and gone, beside the same in a clean directory.
func BenchmarkChurn(b *testing.B) {
	const n = 5000
	produce := func(dir string, base int) time.Duration {
		var each []time.Duration
		for i := range n {
			start := time.Now()
			drop(b, dir, "fam", name(base+i), benchRequest)
			each = append(each, time.Since(start))
		}
		return median(each)
	}
	var ours, floor []time.Duration
	for b.Loop() {
		floor = append(floor, produce(prepare(b, "fam"), 0))
		dir := prepare(b, "fam")
		q := serve(b, dir, Options{Folders: []string{"fam"}})
		for round := range 4 {
			d := produce(dir, round*n)
			for range n {
				q.next()
			}
			if round == 3 {
				ours = append(ours, d)
			}
		}
		q.stop()
	}
	report(b, "p50", median(ours), median(floor))
}
