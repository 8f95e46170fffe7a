//go:build e2e

package bench

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/ipc"
)

// memoryDir is a directory in memory, where a sync costs nothing: what is left
// is the undurable part. Where there is none, it lies on the disk.
func memoryDir(b *testing.B) string {
	dir, err := os.MkdirTemp("/dev/shm", "longshore-bench-")
	if err != nil {
		b.Log("no /dev/shm: the figures hold the disk's syncs")
		return b.TempDir()
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// watch is an inotify descriptor that tells those events of a directory.
func watch(b *testing.B, dir string, events uint32) (fd int) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err == nil {
		_, err = unix.InotifyAddWatch(fd, dir, events)
	}
	if err != nil {
		b.Fatal(err)
	}
	return fd
}

// rawWatch reads inotify events with nothing around them, until the test ends.
func rawWatch(b *testing.B, dir string) <-chan time.Time {
	fd := watch(b, dir, unix.IN_MOVED_TO|unix.IN_DELETE_SELF)
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

// renamed is a directory in which a rename makes an event, and nothing else.
type renamed struct {
	dir  string
	seen <-chan time.Time
	n    int
}

func newRenamed(b *testing.B, in string) *renamed {
	dir := filepath.Join(in, "raw")
	if err := os.Mkdir(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	return &renamed{dir: dir, seen: rawWatch(b, dir)}
}

// once renames a file that was written before, after a gap in which everybody
// falls asleep, and returns the time to the event.
func (r *renamed) once(b *testing.B) time.Duration {
	b.Helper()
	r.n++
	tmp, to := filepath.Join(r.dir, ".tmp"), filepath.Join(r.dir, fmt.Sprint(r.n%100))
	if err := os.WriteFile(tmp, []byte("{}"), 0o644); err != nil {
		b.Fatal(err)
	}
	<-time.After(gap)
	start := time.Now()
	if err := os.Rename(tmp, to); err != nil {
		b.Fatal(err)
	}
	return (<-r.seen).Sub(start)
}

// gap is the pause before each measured drop.
const gap = 2 * time.Millisecond

// fdatasync appends a record to a log and syncs it.
func fdatasync(b *testing.B, f *os.File, size int) time.Duration {
	b.Helper()
	start := time.Now()
	if _, err := f.Write(make([]byte, size)); err != nil {
		b.Fatal(err)
	}
	if err := unix.Fdatasync(int(f.Fd())); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

func newLogFile(b *testing.B) *os.File {
	f, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	return f
}

// drainRaw reads, parses and unlinks one request after the other.
func drainRaw(b *testing.B, s *stage.Site) time.Duration {
	b.Helper()
	start := time.Now()
	for _, folder := range s.Folders {
		entries, err := os.ReadDir(s.Messages(folder))
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range entries {
			path := filepath.Join(s.Messages(folder), e.Name())
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

// synced puts what was written on the disk, as a client does: unlinking what
// is there costs more.
func synced(s *stage.Site) {
	s.Helper()
	f, err := os.Open(s.Dir)
	if err != nil {
		s.Fatal(err)
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		s.Fatal(err)
	}
}

// times are measurements of one thing.
type times []time.Duration

func (t times) at(q float64) float64 {
	slices.Sort(t)
	return float64(t[int(math.Ceil(q*float64(len(t)-1)))])
}

func (t times) p50() float64 { return t.at(0.5) }

// report gives the median and the tail of ours, the floor's, and the ratio of
// the medians.
func report(b *testing.B, ours, floor times) {
	b.ReportMetric(ours.p50()/1e3, "p50-µs")
	b.ReportMetric(ours.at(0.99)/1e3, "p99-µs")
	b.ReportMetric(floor.p50()/1e3, "floor-µs")
	b.ReportMetric(ours.p50()/floor.p50(), "x-floor")
	b.ReportMetric(0, "ns/op")
}

// reportStraight gives the ratio to the straight line.
func reportStraight(b *testing.B, ours, straight times) {
	b.ReportMetric(straight.p50()/1e3, "straight-µs")
	b.ReportMetric(ours.p50()/straight.p50(), "x-straight")
}

// processorTime is what the process has used so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
