package web_test

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/media"
)

// BenchmarkSend sends a file, and for each one copies and syncs it once by
// hand to the same file system: "x-floor" is the ratio of the two. Beyond the
// floor a Send hashes what it has stored, renames it, and makes its directory
// and its row durable.
func BenchmarkSend(b *testing.B) {
	for name, size := range map[string]int64{"1KiB": 1 << 10, "1MiB": 1 << 20, "100MiB": 100 << 20} {
		b.Run(name, func(b *testing.B) { benchmarkSend(b, size) })
	}
}

func benchmarkSend(b *testing.B, size int64) {
	dir := b.TempDir()
	opts := options(filepath.Join(dir, "web")).opens(b)
	w, err := opened(opts)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	path := filepath.Join(dir, "source")
	file := source(b, path, size)
	var floor, sent time.Duration
	memory := watchMemory()
	b.SetBytes(size)
	b.ResetTimer()
	for b.Loop() {
		start := time.Now()
		copyAndSync(b, path, filepath.Join(dir, "copy"))
		floor += time.Since(start)
		start = time.Now()
		if _, err := w.Send(b.Context(), channel.Message{ID: newID(), Chat: "web:family", Files: file}); err != nil {
			b.Fatal(err)
		}
		sent += time.Since(start)
	}
	b.ReportMetric(float64(sent.Microseconds())/float64(b.N), "us/send")
	b.ReportMetric(float64(floor.Microseconds())/float64(b.N), "us/floor")
	b.ReportMetric(float64(sent)/float64(floor), "x-floor")
	b.ReportMetric(float64(memory())/(1<<20), "peak-MiB")
}

func source(b *testing.B, path string, size int64) []channel.File {
	b.Helper()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(f, h), rand.Reader, size); err != nil {
		b.Fatal(err)
	}
	return []channel.File{{
		Info:    media.Info{Name: "source.bin", MIME: "application/octet-stream", Kind: media.Document, Size: size},
		SHA256:  hex.EncodeToString(h.Sum(nil)),
		Content: channeltest.Opens(func() (io.ReadSeekCloser, error) { return os.Open(path) }),
	}}
}

func copyAndSync(b *testing.B, from, to string) {
	b.Helper()
	src, err := os.Open(from)
	if err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	dst, err := os.Create(to)
	if err != nil {
		b.Fatal(err)
	}
	defer dst.Close()
	if _, err := io.Copy(dst, src); err != nil {
		b.Fatal(err)
	}
	if err := dst.Sync(); err != nil {
		b.Fatal(err)
	}
}

// watchMemory returns a function that ends the watch and gives the most heap
// in use beyond what was in use at its start.
func watchMemory() func() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	idle := m.HeapInuse
	var peak atomic.Uint64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak.Store(max(peak.Load(), m.HeapInuse))
			case <-stop:
				return
			}
		}
	}()
	return func() uint64 {
		close(stop)
		<-done
		return max(peak.Load(), idle) - idle
	}
}
