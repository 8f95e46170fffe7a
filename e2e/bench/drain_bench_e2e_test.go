//go:build e2e

package bench

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
)

// drained is what a host took to be through with a backlog, from its start.
type drained struct {
	first, dispatched, cleaned, told time.Duration // first and last call of the channel; last unlink; last result
	processor                        time.Duration
	lost, twice                      int
}

// drain opens and runs a host on a site whose queues, or whose outbox, hold n
// requests, until the last of them is sent, unlinked and told.
func drain(b *testing.B, s *stage.Site, n int, unlinks int) (d drained) {
	b.Helper()
	out := stage.NewSink(1 << 18)
	var unlinked, told atomic.Int64
	through := make(chan struct{})
	done := sync.OnceFunc(func() { close(through) })
	var lastUnlink, lastTold atomic.Int64
	start := time.Now()
	before := processorTime(b)
	h := s.Open(func(_, _, step string) {
		switch step {
		case "unlinked":
			unlinked.Add(1)
			lastUnlink.Store(int64(time.Since(start)))
		case "result":
			told.Add(1)
			lastTold.Store(int64(time.Since(start)))
		default:
			return
		}
		if unlinked.Load() >= int64(unlinks) && told.Load() >= int64(n) && len(out.Called) >= n { // at a restart, what waits is told again
			done()
		}
	}, out)
	stop := s.RunHost(h)
	<-through
	d.processor = processorTime(b) - before
	stop()
	close(out.Called)
	seen := map[stage.Arrival]int{}
	for a := range out.Called {
		if d.first == 0 {
			d.first = a.At.Sub(start)
		}
		d.dispatched = a.At.Sub(start)
		a.At = time.Time{}
		seen[a]++
	}
	for _, times := range seen {
		d.twice += times - 1
	}
	d.lost = n - len(seen)
	d.cleaned, d.told = time.Duration(lastUnlink.Load()), time.Duration(lastTold.Load())
	return d
}

// BenchmarkDrain10k empties a backlog of 10,000 requests, each of them
// recorded, sent, unlinked and told, beside a loop that reads, parses and
// unlinks one file after the other. Ratios above 1 are faster than that.
func BenchmarkDrain10k(b *testing.B) {
	const n = 10_000
	for _, row := range []struct {
		name, keys string
		groups     int
	}{{"1", "", 1}, {"100", "", 100}, {"1/batch", `,"results":"batch"`, 1}, {"100/batch", `,"results":"batch"`, 100}} {
		b.Run(row.name, func(b *testing.B) {
			var dispatched, cleaned, told, processor, floor, direct times
			for b.Loop() {
				for range 3 {
					s := stage.NewSite(b, b.TempDir(), row.groups, stage.NoLimits)
					s.Keys = row.keys
					s.Fill(n)
					synced(s)
					floor = append(floor, drainRaw(b, s))
					direct = append(direct, drainStraight(b, s, n))
					s.Fill(n)
					synced(s)
					d := drain(b, s, n, n)
					if d.lost != 0 || d.twice != 0 {
						b.Fatalf("%d lost, %d sent twice", d.lost, d.twice)
					}
					dispatched, cleaned, told = append(dispatched, d.dispatched), append(cleaned, d.cleaned), append(told, d.told)
					processor = append(processor, d.processor)
				}
			}
			rate := func(t times) float64 { return n * 1e9 / t.p50() }
			b.ReportMetric(rate(dispatched), "dispatched/s")
			b.ReportMetric(rate(cleaned), "cleaned/s")
			b.ReportMetric(rate(told), "told/s")
			b.ReportMetric(rate(floor), "floor/s")
			b.ReportMetric(rate(direct), "straight/s")
			b.ReportMetric(rate(told)/rate(direct), "told-x-straight")
			b.ReportMetric(rate(dispatched)/rate(floor), "dispatched-x-floor")
			b.ReportMetric(rate(cleaned)/rate(floor), "cleaned-x-floor")
			b.ReportMetric(processor.p50()/n/1e3, "cpu-µs/request")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// drainStraight has the straight line take n requests to their ends.
func drainStraight(b *testing.B, s *stage.Site, n int) (took time.Duration) {
	b.Helper()
	s.Fill(n)
	synced(s)
	line := newStraight(b, b.TempDir())
	for _, folder := range s.Folders {
		took += line.drain(s.Messages(folder))
	}
	return took
}

// BenchmarkRestart starts a host of 1,000 groups with 10,000 requests in its
// queues, or accepted and not sent: the time to the first call of the channel,
// and to the end, beside a loop that reads, parses and unlinks the files.
//
// On ext4 without a journal most of it is the creating of results, which doubles for
// a minute after many files were deleted: the floor, which creates none, does not
// show it. Two versions are compared there with over a minute between the runs.
func BenchmarkRestart(b *testing.B) {
	const n, many = 10_000, 1000
	for _, where := range []string{"queue", "outbox"} {
		b.Run(where, func(b *testing.B) {
			var first, all, told, floor, processor, floorProcessor times
			lost, twice := 0, 0
			for b.Loop() {
				s := stage.NewSite(b, b.TempDir(), many, stage.NoLimits)
				s.Fill(n)
				synced(s)
				before := processorTime(b)
				floor = append(floor, drainRaw(b, s))
				floorProcessor = append(floorProcessor, processorTime(b)-before)
				s.Fill(n)
				synced(s)
				unlinks := n
				if where == "outbox" {
					unlinks = 0
					accept(s, n)
				}
				d := drain(b, s, n, unlinks)
				first, all, told = append(first, d.first), append(all, max(d.dispatched, d.cleaned)), append(told, d.told)
				lost, twice, processor = lost+d.lost, twice+d.twice, append(processor, d.processor)
			}
			b.ReportMetric(processor.p50()/floorProcessor.p50(), "cpu-x-floor")
			b.ReportMetric(first.p50()/1e6, "first-ms")
			b.ReportMetric(all.p50()/1e6, "all-ms")
			b.ReportMetric(told.p50()/1e6, "told-ms")
			b.ReportMetric(floor.p50()/1e6, "floor-ms")
			b.ReportMetric(first.p50()/floor.p50(), "first-x-floor")
			b.ReportMetric(all.p50()/floor.p50(), "x-floor")
			b.ReportMetric(float64(lost), "lost")
			b.ReportMetric(float64(twice), "twice")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// accept runs a host without a channel that works until all n requests are
// recorded and unlinked.
func accept(s *stage.Site, n int) {
	s.Helper()
	var left atomic.Int64
	left.Store(int64(n))
	done := make(chan struct{})
	silent := stage.NewSink(1 << 18)
	silent.Hang = func(groups.JID) <-chan struct{} { return nil }
	_, stop := s.Start(func(_, _, step string) {
		if step == "unlinked" && left.Add(-1) == 0 {
			close(done)
		}
	}, silent)
	<-done
	stop()
}

// BenchmarkIdle is the processor time that a host of quiet groups uses in a
// minute and the memory it keeps for each, beside a poller that lists every
// queue each second.
func BenchmarkIdle(b *testing.B) {
	const watch = 20 * time.Second
	for many, settle := range map[int]time.Duration{
		10:     2 * time.Second,
		1000:   65 * time.Second, // after a minute without a request a group counts as quiet
		10_000: 75 * time.Second,
	} {
		b.Run(fmt.Sprint(many), func(b *testing.B) {
			s := stage.NewSite(b, b.TempDir(), many, stage.NoLimits)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			_, stop := s.Start(nil, stage.NewSink(0))
			defer stop()
			var ours, floor time.Duration
			for b.Loop() {
				<-time.After(settle)
				runtime.GC()
				runtime.ReadMemStats(&after)
				used := processorTime(b)
				<-time.After(watch)
				ours = (processorTime(b) - used) * time.Minute / watch
				used = processorTime(b)
				for _, folder := range s.Folders {
					if _, err := os.ReadDir(s.Messages(folder)); err != nil {
						b.Fatal(err)
					}
				}
				floor = 60 * (processorTime(b) - used)
			}
			b.ReportMetric(float64(ours)/1e6, "cpu-ms/min")
			b.ReportMetric(float64(floor)/1e6, "poller-ms/min")
			b.ReportMetric(float64(ours)/float64(floor), "x-poller")
			b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/1024/float64(many), "KiB/group")
			b.ReportMetric(0, "ns/op")
		})
	}
}
