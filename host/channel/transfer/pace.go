package transfer

import (
	"errors"
	"io"
	"sync"
	"time"
)

// ErrSlow ends a transfer whose bytes come too slowly.
var ErrSlow = errors.New("its bytes come too slowly")

// grace is what any transfer may take, however small: names, connections,
// a second attempt, a question to a phone.
const grace = time.Minute

// Pace is how fast bytes must come.
type Pace struct {
	PerSecond int64         // bytes
	Window    time.Duration // over which that is measured
}

// How fast a file must come. Brisk is for a first attempt: one that is slower
// makes room for others, and is fetched with Patient later. 64 KiB/s is a poor
// mobile line.
var (
	Brisk   = Pace{PerSecond: 256 << 10, Window: 10 * time.Second}
	Patient = Pace{PerSecond: 64 << 10, Window: 30 * time.Second}
)

// Total is how long a transfer of so many bytes may take in all.
func (p Pace) Total(size int64) time.Duration {
	return grace + time.Duration(size/p.PerSecond)*time.Second
}

// Watch looks at a transfer from now on. It calls slow once, from a goroutine
// of its own, if a window brings fewer bytes than Pace says; slow must end the
// transfer, for a Read may be waiting. Stop, or Close of the Body, ends it.
func (p Pace) Watch(slow func()) *Watch {
	w := &Watch{need: p.PerSecond * int64(p.Window/time.Second), window: p.Window, slow: slow}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(p.Window, w.look)
	return w
}

// Watch is over one transfer.
type Watch struct {
	need   int64
	window time.Duration
	slow   func()

	mu    sync.Mutex
	timer *time.Timer
	came  int64 // in this window
	ended bool
}

func (w *Watch) look() {
	if w.tooSlow() {
		w.slow()
	}
}

func (w *Watch) tooSlow() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return false
	}
	w.ended = w.came < w.need
	if !w.ended {
		w.came = 0
		w.timer.Reset(w.window)
	}
	return w.ended
}

// Came counts bytes.
func (w *Watch) Came(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.came += int64(n)
}

// Stop ends the watch. It may be called again.
func (w *Watch) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	w.timer.Stop()
}

// Body counts what is read of body. The watch ends with its last byte, at its
// first error, and when it is closed.
func (w *Watch) Body(body io.ReadCloser) io.ReadCloser { return &watched{body, w} }

type watched struct {
	io.ReadCloser
	w *Watch
}

func (b *watched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.w.Came(n)
	if err != nil {
		b.w.Stop()
	}
	return n, err
}

func (b *watched) Close() error {
	b.w.Stop()
	return b.ReadCloser.Close()
}
