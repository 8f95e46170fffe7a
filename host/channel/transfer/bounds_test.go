package transfer_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/transfer"
)

// drip gives so many bytes each second, until it is closed.
type drip struct {
	each   int
	closed chan struct{}
}

func (d *drip) Read(p []byte) (int, error) {
	select {
	case <-time.After(time.Second):
		return min(d.each, len(p)), nil
	case <-d.closed:
		return 0, errors.New("closed")
	}
}

func (d *drip) Close() error { close(d.closed); return nil }

func TestASlowTransferEnds(t *testing.T) {
	speed := transfer.Speed{PerSecond: 1000, Window: 10 * time.Second}
	for _, tt := range []struct {
		each int
		want time.Duration // 0: it goes on
	}{{1, 10 * time.Second}, {0, 10 * time.Second}, {999, 10 * time.Second}, {1200, 0}} {
		synctest.Test(t, func(t *testing.T) {
			source := &drip{each: tt.each, closed: make(chan struct{})}
			start, ended := time.Now(), time.Duration(0)
			w := speed.Watch(func(error) { ended = time.Since(start); source.Close() })
			body := w.Body(source)
			end := time.AfterFunc(time.Hour, func() {
				if ended == 0 {
					source.Close()
				}
			})
			defer end.Stop()
			_, _ = io.Copy(io.Discard, body)
			if ended != tt.want {
				t.Errorf("with %d bytes a second it was ended after %s, want %s", tt.each, ended, tt.want)
			}
		})
	}
}

func TestTheTimeOfATransferIsBoundedByItsSize(t *testing.T) {
	speed := transfer.Speed{PerSecond: 64 << 10, Window: time.Second}
	if got := speed.Total(0); got != time.Minute {
		t.Errorf("nothing may take %s", got)
	}
	if got := speed.Total(64 << 20); got != time.Minute+1024*time.Second {
		t.Errorf("64 MiB may take %s", got)
	}
}

func TestAFileTakesNoMoreThanItMayAndAsksAsBytesCome(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var asked, held int64
	file := &transfer.File{File: f, Most: 5 << 20, Reserve: func(n int64) (func(), error) {
		asked += n
		held += n
		return func() { held -= n }, nil
	}}
	if _, err := io.Copy(file, bytes.NewReader(make([]byte, 100))); err != nil || asked > 1<<20 {
		t.Errorf("100 bytes asked for %d, error %v", asked, err)
	}
	if _, err := io.Copy(file, bytes.NewReader(make([]byte, 6<<20))); !errors.Is(err, transfer.ErrTooLarge) {
		t.Errorf("6 MiB into 5: %v", err)
	}
	if asked > 5<<20 || held != 0 {
		t.Errorf("%d bytes were asked for, %d are held", asked, held)
	}
	full := errors.New("full")
	_, _ = f.Seek(0, io.SeekStart)
	file = &transfer.File{File: f, Most: 5 << 20, Reserve: func(int64) (func(), error) { return nil, full }}
	if _, err := file.Write([]byte("x")); !errors.Is(err, full) {
		t.Errorf("without room: %v", err)
	}
}
