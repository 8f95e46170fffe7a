//go:build e2e

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/ipc"
)

// BenchmarkAccept is what all checks of a file's request cost: decoding,
// authorizing, opening, and looking at content and limits; without the copy and
// the record that follow. Its floor is to open the file below a directory in
// the kernel, and fstat.
func BenchmarkAccept(b *testing.B) {
	s := stage.NewSite(b, b.TempDir(), 1, stage.NoLimits)
	h := s.Open(nil, stage.NewSink(1<<18))
	defer h.Close()
	workspace := s.Cfg.Layout().Workspace("g0")
	if err := os.WriteFile(filepath.Join(workspace, "report.pdf"), []byte("%PDF-1.7\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	var checks times
	var begun time.Time // of the request at hand: the one before it is copied
	opts := h.Bridge.Options
	opts.Trace = func(_, _, step string) {
		switch step {
		case "checked":
			checks = append(checks, time.Since(begun))
		case "copied":
			begun = time.Now()
		}
	}
	accept, n := bridge.New(opts), 0
	body := []byte(`{"type":"file","chatJid":"mem:g0","groupFolder":"g0","filePath":"/workspace/group/report.pdf","fileName":"Report.pdf","mimeType":"application/pdf","caption":"the third quarter","timestamp":"2026-01-01T00:00:00.000Z"}`)
	var decodes, floor times
	for b.Loop() {
		for range 16 {
			n++
			start := time.Now()
			_, err := ipc.Decode(body)
			decodes = append(decodes, time.Since(start))
			if err != nil {
				b.Fatal(err)
			}
			s.Place("g0", fmt.Sprint(n, ".json"), string(body))
			floor = append(floor, openat2(b, workspace, "report.pdf"))
		}
		batch, end := siteBatch(s, "g0")
		begun = time.Now()
		accept.Carry(b.Context(), batch, threadless{})
		end()
	}
	all := decodes.p50() + checks.p50()
	b.ReportMetric(all/1e3, "p50-µs")
	b.ReportMetric(decodes.p50()/1e3, "decode-µs")
	b.ReportMetric(floor.p50()/1e3, "floor-µs")
	b.ReportMetric(all/floor.p50(), "x-floor")
	b.ReportMetric(0, "ns/op")
}

// threadless are assistants without threads.
type threadless struct{}

func (threadless) ThreadOf(string, string, time.Time) (string, bool) { return "", true }

func (threadless) Notify(string, string, string) error        { return nil }
func (threadless) Knows(string, string, string) (bool, error) { return true, nil }

// openat2 opens, asks and closes, and returns the time without finding dir.
func openat2(b *testing.B, dir, name string) time.Duration {
	b.Helper()
	at, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer unix.Close(at)
	start := time.Now()
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(at, name, &how)
	if err != nil {
		b.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		b.Fatal(err)
	}
	if err := unix.Close(fd); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}
