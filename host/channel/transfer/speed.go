package transfer

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// ErrSlow ends a transfer that is too slow.
var ErrSlow = errors.New("the transfer is too slow")

// grace is the time that even the smallest transfer may take: for names, connections, a second
// attempt, a question to a phone.
const grace = time.Minute

// Speed is the least speed of a transfer.
type Speed struct {
	PerSecond int64         // bytes
	Window    time.Duration // over which the speed is measured
}

// The speeds for files. Brisk is for a first attempt: a slower file makes room for others, and is
// fetched later with Patient. 64 KiB/s is a poor mobile connection.
var (
	Brisk   = Speed{PerSecond: 256 << 10, Window: 10 * time.Second}
	Patient = Speed{PerSecond: 64 << 10, Window: 30 * time.Second}
)

// SpeedFor returns the speed for a first attempt, or for a patient one.
func SpeedFor(patient bool) Speed {
	if patient {
		return Patient
	}
	return Brisk
}

// Total returns how long a transfer of so many bytes may take.
func (p Speed) Total(size int64) time.Duration {
	return grace + time.Duration(size/p.PerSecond)*time.Second
}

// Watch watches a transfer from now on. If a window brings fewer bytes than Speed requires, it calls
// stop once with ErrSlow, in a goroutine of its own. stop must end the transfer, since a Read may
// be blocked. Stop, or Close of the Body, ends the watch and its goroutine.
func (p Speed) Watch(stop context.CancelCauseFunc) *Watch {
	w := &Watch{need: p.PerSecond * int64(p.Window/time.Second), window: p.Window, stop: stop}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(p.Window, w.check)
	return w
}

// Watch watches one transfer.
type Watch struct {
	need   int64
	window time.Duration
	stop   context.CancelCauseFunc

	mu       sync.Mutex
	timer    *time.Timer
	received int64 // in this window
	ended    bool
}

// check ends the transfer if the window that has passed brought too few bytes.
func (w *Watch) check() {
	if w.tooSlow() {
		w.stop(ErrSlow)
	}
}

func (w *Watch) tooSlow() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return false
	}
	w.ended = w.received < w.need
	if !w.ended {
		w.received = 0
		w.timer.Reset(w.window)
	}
	return w.ended
}

// Received counts received bytes.
func (w *Watch) Received(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.received += int64(n)
}

// Stop ends the watch. It may be called again.
func (w *Watch) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	w.timer.Stop()
}

// Body counts the bytes that are read from body. The watch ends with the last
// byte, at the first error, and when the Body is closed.
func (w *Watch) Body(body io.ReadCloser) io.ReadCloser { return &watched{body, w} }

type watched struct {
	io.ReadCloser
	w *Watch
}

func (b *watched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.w.Received(n)
	if err != nil {
		b.w.Stop()
	}
	return n, err
}

func (b *watched) Close() error {
	b.w.Stop()
	return b.ReadCloser.Close()
}
