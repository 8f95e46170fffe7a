//go:build e2e

package slack_test

import (
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/channeltest"
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
	w := newWorld(t)
	w.run(t)
	m := w.files("all zeros", "")
	m.Files[0].Size, m.Files[0].SHA256 = size, "38f7c0648553d81ad9402ebdd1b275a0029644c5b7eef7c963dfa7db9ef0ba23"
	m.Files[0].Content = channeltest.Opens(func() (io.ReadSeekCloser, error) { return &zeros{left: size}, nil })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := w.attempt(t, m, &kept{})
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Error(err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 30*media.MiB {
		t.Errorf("%d bytes were allocated", grown)
	}
}
