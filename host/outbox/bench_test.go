package outbox_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
)

// median is the middle of some durations, in nanoseconds.
func median(ds []time.Duration) float64 {
	slices.Sort(ds)
	return float64(ds[len(ds)/2])
}

// paired measures work and its floor in turns, so that both meet the same
// machine, and reports their medians and the ratio. What has to be cleaned up
// after a work is not measured.
func paired(b *testing.B, per float64, work, floor func(), cleanup ...func()) {
	b.Helper()
	var works, floors []time.Duration
	timed := func(f func()) time.Duration {
		start := time.Now()
		f()
		return time.Since(start)
	}
	for b.Loop() {
		works = append(works, timed(work))
		for _, f := range cleanup {
			f()
		}
		floors = append(floors, timed(floor))
	}
	w, f := median(works), median(floors)
	b.ReportMetric(w/per/1e3, "µs/each")
	b.ReportMetric(f/per/1e3, "floor-µs/each")
	b.ReportMetric(w/f, "ratio")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkPut pairs recording with appending as many bytes to a file and
// fdatasync, one at a time and in groups of 64.
func BenchmarkPut(b *testing.B) {
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			o := open(b, outbox.Options{})
			f, err := os.Create(filepath.Join(b.TempDir(), "log"))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			record := make([]byte, 300)
			i := 0
			paired(b, float64(n), func() {
				var wg sync.WaitGroup
				for range n {
					i++
					d := text(groups.JID(fmt.Sprint("fake:", i%100)), fmt.Sprint("m", i))
					wg.Go(func() {
						if err := o.Put(context.Background(), []records.Delivery{d}); err != nil {
							b.Error(err)
						}
					})
				}
				wg.Wait()
			}, func() {
				for range n {
					f.Write(record)
				}
				if err := unix.Fdatasync(int(f.Fd())); err != nil {
					b.Error(err)
				}
			})
		})
	}
}

// BenchmarkSpoolCopy pairs a synced snapshot with io.Copy and a sync between
// files, and io.Copy and hashing with it.
func BenchmarkSpoolCopy(b *testing.B) {
	for _, size := range []int64{1 << 20, 100 << 20} {
		src := filepath.Join(b.TempDir(), "src")
		content := make([]byte, size)
		rand.Read(content)
		if err := os.WriteFile(src, content, 0o600); err != nil {
			b.Fatal(err)
		}
		for _, hash := range []bool{false, true} {
			b.Run(fmt.Sprintf("%dMiB/floor-hash=%v", size>>20, hash), func(b *testing.B) {
				o := open(b, outbox.Options{})
				f, err := os.Open(src)
				if err != nil {
					b.Fatal(err)
				}
				defer f.Close()
				dst := filepath.Join(b.TempDir(), "dst")
				paired(b, 1, func() {
					blob, err := o.CopyFile(context.Background(), f, size)
					if err != nil {
						b.Fatal(err)
					}
					o.Discard(blob)
				}, func() { plainCopy(b, dst, src, hash) })
			})
		}
	}
}

// plainCopy is what a simple program would do.
func plainCopy(b *testing.B, dst, src string, hash bool) {
	in, err := os.Open(src)
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(dst)
	if err != nil {
		b.Fatal(err)
	}
	defer os.Remove(dst)
	defer out.Close()
	if hash {
		_, err = io.Copy(io.MultiWriter(out, sha256.New()), in)
	} else {
		_, err = io.Copy(out, in)
	}
	if err == nil {
		err = out.Sync()
	}
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkScale pairs a delivery's way from Put to settled in an outbox with
// a long history, or a long backlog of other chats, with an empty one's.
func BenchmarkScale(b *testing.B) {
	for _, kind := range []string{"history", "backlog"} {
		b.Run(kind+"=100000", func(b *testing.B) {
			empty, full := newWay(b), newWay(b)
			full.load(b, 100_000, kind == "backlog")
			paired(b, 1, func() { full.once(b) }, func() { empty.once(b) })
		})
	}
}

// way is an outbox whose deliveries are timed.
type way struct {
	o *box
	n int
}

func newWay(b *testing.B) *way {
	w := &way{}
	quick := &fake{name: "fake"}
	quick.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		if strings.HasPrefix(string(m.Chat), "fake:stuck") {
			return channel.Receipt{}, &channel.Error{Message: "later", RetryAfter: time.Hour}
		}
		return channel.Receipt{ID: m.ID}, nil
	}
	w.o = open(b, outbox.Options{Channels: []channel.Channel{quick}})
	run(b, w.o)
	return w
}

func (w *way) load(b *testing.B, n int, stuck bool) {
	chat := "fake:past"
	if stuck {
		chat = "fake:stuck"
	}
	for at := 0; at < n; at += 1000 {
		var ds []records.Delivery
		for i := range 1000 {
			ds = append(ds, text(groups.JID(fmt.Sprint(chat, i%100)), fmt.Sprint("m", at+i)))
		}
		put(b, w.o, ds...)
	}
	if !stuck {
		settle(b, w.o, n)
	}
}

func (w *way) once(b *testing.B) {
	w.n++
	put(b, w.o, text("fake:now", fmt.Sprint("now", w.n)))
	settle(b, w.o, 1)
}

// settle waits until n deliveries are settled.
func settle(b *testing.B, o *box, n int) {
	b.Helper()
	for n > 0 {
		c, err := o.NextChanges(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		for _, d := range c.All {
			if !d.Open() {
				n--
			}
		}
		c.Done()
	}
}

// BenchmarkDrain pairs sending 10,000 kept deliveries, of 1 and of 100 groups,
// with reading and unlinking as many small synced files.
func BenchmarkDrain(b *testing.B) {
	const n = 10_000
	for _, chats := range []int{1, 100} {
		b.Run(fmt.Sprint("groups=", chats), func(b *testing.B) {
			once := func() (drained, raw time.Duration) {
				dir := b.TempDir()
				quiet := openAt(b, dir, outbox.Options{})
				for at := 0; at < n; at += 1000 {
					var ds []records.Delivery
					for i := range 1000 {
						ds = append(ds, text(groups.JID(fmt.Sprint("fake:", i%chats)), fmt.Sprint("m", at+i)))
					}
					put(b, quiet, ds...)
				}
				quiet.Close()
				return drain(b, dir, n), rawDrain(b, n)
			}
			var d, r []time.Duration
			for b.Loop() {
				drained, raw := once()
				d, r = append(d, drained), append(r, raw)
			}
			b.ReportMetric(n/(median(d)/1e9), "sends/s")
			b.ReportMetric(n/(median(r)/1e9), "floor-files/s")
			b.ReportMetric(median(d)/median(r), "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// drain opens a full outbox and waits until all of it is settled.
func drain(b *testing.B, dir string, n int) time.Duration {
	start := time.Now()
	o := openAt(b, dir, outbox.Options{Channels: []channel.Channel{&fake{name: "fake"}}})
	defer o.Close()
	defer run(b, o)()
	settle(b, o, n)
	return time.Since(start)
}

func rawDrain(b *testing.B, n int) time.Duration {
	dir := b.TempDir()
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), make([]byte, 300), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	unix.Sync()
	start := time.Now()
	entries, err := os.ReadDir(dir)
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if _, err := os.ReadFile(path); err != nil {
			b.Fatal(err)
		}
		if err := os.Remove(path); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}

// BenchmarkRestart measures the time from Open to the first Send with 10,000
// deliveries of 1,000 groups waiting, paired with reading the names of as many
// files.
func BenchmarkRestart(b *testing.B) {
	const n, groupCount = 10_000, 1000
	dir, names := b.TempDir(), b.TempDir()
	quiet := openAt(b, dir, outbox.Options{})
	ds := make([]records.Delivery, n)
	for i := range ds {
		ds[i] = text(groups.JID(fmt.Sprint("fake:", i%groupCount)), fmt.Sprint("m", i))
		if err := os.WriteFile(filepath.Join(names, ds[i].Key), nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	put(b, quiet, ds...)
	if err := quiet.Close(); err != nil {
		b.Fatal(err)
	}
	var end func()
	paired(b, 1, func() {
		first := make(chan struct{}, n)
		ch := &fake{name: "fake"}
		ch.send = func(ctx context.Context, _ channel.Message) (channel.Receipt, error) {
			first <- struct{}{}
			<-ctx.Done()
			return channel.Receipt{}, ctx.Err()
		}
		o := openAt(b, dir, outbox.Options{Channels: []channel.Channel{ch}})
		stop := run(b, o)
		<-first
		end = func() { stop(); o.Close() }
	}, func() {
		if _, err := os.ReadDir(names); err != nil {
			b.Error(err)
		}
	}, func() { end() })
}
