package mounts_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/internal/fstest"

	"golang.org/x/sys/unix"
)

// BenchmarkOpen pairs the opener with two floors in the same run: os.Open and
// fstat, and openat2 (which resolves below a directory in the kernel) and
// fstat. It reports the ratios.
func BenchmarkOpen(b *testing.B) {
	g := newGround(b)
	ws := g.Workspace("family")
	path := fstest.Write(b, "x", ws, "out/report.pdf")
	m := g.mounts(b, g.family)
	dir, err := unix.Open(ws, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { unix.Close(dir) })

	ours := func() error {
		f, err := m.Open("/workspace/group/out/report.pdf")
		if err != nil {
			return err
		}
		return f.Close()
	}
	std := func() error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		if _, err := f.Stat(); err != nil {
			return err
		}
		return f.Close()
	}
	openat2 := func() error {
		how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
		fd, err := unix.Openat2(dir, "out/report.pdf", &how)
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		return unix.Close(fd)
	}
	naive := func() error {
		f, err := naiveOpen(ws, path)
		if err != nil {
			return err
		}
		return f.Close()
	}
	time1 := func(open func() error) time.Duration {
		start := time.Now()
		if err := open(); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	var sum [4]time.Duration
	b.ReportAllocs()
	for b.Loop() { // in turns, so that a noisy moment hits all of them
		for i, open := range []func() error{ours, std, openat2, naive} {
			sum[i] += time1(open)
		}
	}
	per := func(i int) float64 { return float64(sum[i].Nanoseconds()) / float64(b.N) }
	b.ReportMetric(per(0), "ns/open")
	b.ReportMetric(per(0)/per(1), "x-os.Open")
	b.ReportMetric(per(0)/per(2), "x-openat2")
	b.ReportMetric(per(0)/per(3), "x-naive")
}

// BenchmarkOpenDeep is a file six directories down, each of which os.Root opens
// by itself.
func BenchmarkOpenDeep(b *testing.B) {
	g := newGround(b)
	rel := filepath.Join("a", "b", "c", "d", "e", "report.pdf")
	fstest.Write(b, "x", g.Workspace("family"), rel)
	m := g.mounts(b, g.family)
	b.ReportAllocs()
	for b.Loop() {
		f, err := m.Open("/workspace/group/" + rel)
		if err != nil {
			b.Fatal(err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
