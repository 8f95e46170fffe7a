package runtime

import (
	"errors"
	"fmt"
	"sync"
)

// Life is the part that all sessions share: the outputs, whether a stop was
// requested, and how the session ended. A runtime's session embeds it; NewLife
// makes it.
type Life struct {
	outputs chan Output
	dropped chan struct{} // closed when nobody reads outputs any more
	done    chan struct{} // closed when everything has ended; err is set before
	drop    sync.Once     // closes dropped
	err     error

	mu      sync.Mutex
	stopped bool
}

// NewLife returns the Life of a new session.
func NewLife() *Life {
	return &Life{outputs: make(chan Output), dropped: make(chan struct{}), done: make(chan struct{})}
}

// Outputs implements Session.
func (l *Life) Outputs() <-chan Output { return l.outputs }

// Wait implements Session.
func (l *Life) Wait() error {
	<-l.done
	return l.err
}

// Emit passes one output to the reader, or discards it after DiscardOutputs.
func (l *Life) Emit(out Output) {
	select {
	case l.outputs <- out:
	case <-l.dropped:
	}
}

// Silence closes Outputs. It is called once, after the last Emit.
func (l *Life) Silence() { close(l.outputs) }

// DiscardOutputs makes Emit discard all further outputs.
func (l *Life) DiscardOutputs() { l.drop.Do(func() { close(l.dropped) }) }

// Stopping records that the session is being stopped, so that Wait returns
// ErrStopped, however the session ends.
func (l *Life) Stopping() {
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
}

// Stopped reports whether Stopping was called.
func (l *Life) Stopped() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopped
}

// Conclude records why the session ended and returns the error that Wait will
// return. It is called once, before End. A stop hides every reason except
// ErrOutOfMemory and ErrLost.
func (l *Life) Conclude(err error) error {
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

// End marks the session as ended. It is called once.
func (l *Life) End() { close(l.done) }

// Done is closed by End.
func (l *Life) Done() <-chan struct{} { return l.done }
