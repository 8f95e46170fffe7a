package runtime

import (
	"context"

	"golang.org/x/time/rate"
)

// How fast an assistant's output is read: far above what agents write,
// and the largest output comes through at once. Without it, reading could cost
// the host and the engine much more than writing costs the assistant, because
// only the assistant's processor time is limited.
const (
	mostRate  = 8 << 20  // bytes a second
	mostBurst = 16 << 20 // bytes
	leastRead = 4 << 10  // least number of bytes that one read counts for
)

// Throttle limits how fast a session's output is read. A faster writer waits,
// because its pipe is full. NewThrottle makes it. Its methods may be called
// concurrently, and one Throttle may serve all streams of a session.
type Throttle struct {
	bytes *rate.Limiter
	ctx   context.Context
	end   context.CancelFunc
}

// NewThrottle returns the Throttle of a new session. To free it, end ctx or call End.
func NewThrottle(ctx context.Context) *Throttle {
	p := &Throttle{bytes: rate.NewLimiter(mostRate, mostBurst)}
	p.ctx, p.end = context.WithCancel(ctx)
	return p
}

// Spend records a read of n bytes and blocks until the next read is allowed.
// The caller first passes the bytes on, so that they do not wait.
func (p *Throttle) Spend(n int) {
	// An error means that the Throttle has ended, or that a read was larger than
	// any that happens.
	_ = p.bytes.WaitN(p.ctx, max(n, leastRead))
}

// End removes the limit: the writer has ended, and little is left to read.
func (p *Throttle) End() { p.end() }
