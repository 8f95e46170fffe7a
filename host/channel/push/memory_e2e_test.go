//go:build e2e

package push_test

import (
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/push"
	"github.com/longshore-bridge/longshore/media"
)

// zeros is a file of so many.
type zeros struct{ left int64 }

func (z *zeros) Read(p []byte) (int, error) {
	n := min(int64(len(p)), z.left)
	if z.left -= n; n == 0 {
		return 0, io.EOF
	}
	clear(p[:n])
	return int(n), nil
}

func (z *zeros) Seek(int64, int) (int64, error) { return 0, errors.New("read once") }

func (z *zeros) Close() error { return nil }

func TestMemoryDoesNotGrowWithTheFile(t *testing.T) {
	const size = 500_000_000
	w := newWorld(t, func(s *push.Settings) { s.MaxFile = size })
	w.run(t)
	m := withFiles("all zeros", "")
	m.Files[0].Size, m.Files[0].SHA256 = size, "38f7c0648553d81ad9402ebdd1b275a0029644c5b7eef7c963dfa7db9ef0ba23"
	m.Files[0].Content = channeltest.Opens(func() (io.ReadSeekCloser, error) { return &zeros{left: size}, nil })
	told := int64(0)
	m.Attempt = channeltest.Progress(func(n int64) { told = n })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := w.ch.Send(t.Context(), m)
	runtime.ReadMemStats(&after)
	if err != nil || told != size {
		t.Errorf("%d bytes are told: %v", told, err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 20*media.MiB {
		t.Errorf("%d bytes were allocated", grown)
	}
}
