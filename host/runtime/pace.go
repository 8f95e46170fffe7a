package runtime

import (
	"context"

	"golang.org/x/time/rate"
)

// The pace at which an assistant's output is read: far above what agents write,
// and the largest output comes through at once. Without it, reading could cost
// the host and the engine much more than writing costs the assistant, because
// only the assistant's processor time is limited.
const (
	paceRate  = 8 << 20  // bytes a second
	paceBurst = 16 << 20 // bytes
	paceRead  = 4 << 10  // least number of bytes that one read counts for
)

// Pace limits how fast a session's output is read. A faster writer waits,
// because its pipe is full. NewPace makes it. Its methods may be called
// concurrently, and one Pace may serve all streams of a session.
type Pace struct {
	bytes *rate.Limiter
	ctx   context.Context
	end   context.CancelFunc
}

// NewPace returns the Pace of a new session. To free it, end ctx or call End.
func NewPace(ctx context.Context) *Pace {
	p := &Pace{bytes: rate.NewLimiter(paceRate, paceBurst)}
	p.ctx, p.end = context.WithCancel(ctx)
	return p
}

// Spend records a read of n bytes and blocks until the next read is allowed.
// The caller first passes the bytes on, so that they do not wait.
func (p *Pace) Spend(n int) {
	// An error means that the Pace has ended, or that a read was larger than
	// any that happens.
	_ = p.bytes.WaitN(p.ctx, max(n, paceRead))
}

// End removes the limit: the writer has ended, and little is left to read.
func (p *Pace) End() { p.end() }
