package runtime

import (
	"errors"
	"fmt"
	"sync"
)

// Life is what every session is, whatever runs in it: its outputs, whether it
// was asked to stop, and how it ended. A runtime's session embeds it; make it
// with NewLife.
type Life struct {
	outputs chan Output
	dropped chan struct{} // closed when nobody will read outputs any more
	done    chan struct{} // closed when all has ended; err is set before
	drop    func()
	err     error

	mu      sync.Mutex
	stopped bool
}

// NewLife is that of a session that begins.
func NewLife() *Life {
	l := &Life{outputs: make(chan Output), dropped: make(chan struct{}), done: make(chan struct{})}
	l.drop = sync.OnceFunc(func() { close(l.dropped) })
	return l
}

// Outputs implements Session.
func (l *Life) Outputs() <-chan Output { return l.outputs }

// Wait implements Session.
func (l *Life) Wait() error {
	<-l.done
	return l.err
}

// Emit hands one output to whoever reads them, or drops it after Drop.
func (l *Life) Emit(out Output) {
	select {
	case l.outputs <- out:
	case <-l.dropped:
	}
}

// Silence says that no output follows. Call it once, after the last Emit.
func (l *Life) Silence() { close(l.outputs) }

// Drop says that nobody reads outputs any more.
func (l *Life) Drop() { l.drop() }

// Stopping notes that the session is being stopped, so that its end is
// ErrStopped whatever it looks like.
func (l *Life) Stopping() {
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
}

// Stopped says whether Stopping was called.
func (l *Life) Stopped() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopped
}

// Verdict keeps why the session ends and returns what Wait will. Call it once,
// before End. A stop hides every other reason but those that outlast it.
func (l *Life) Verdict(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.stopped && (errors.Is(err, ErrOutOfMemory) || errors.Is(err, ErrLost)):
		err = fmt.Errorf("%w; %w", ErrStopped, err)
	case l.stopped:
		err = ErrStopped
	}
	l.err = err
	return err
}

// End says that all of the session has ended. Call it once.
func (l *Life) End() { close(l.done) }

// Done is closed by End.
func (l *Life) Done() <-chan struct{} { return l.done }
