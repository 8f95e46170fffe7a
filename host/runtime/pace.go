package runtime

import (
	"context"

	"golang.org/x/time/rate"
)

// The pace at which an assistant is read: far above what agents write, and
// the largest output comes through at once. Reading costs the host and the
// engine more than writing costs the assistant, whose share of the processor
// bounds only the latter.
const (
	paceRate  = 8 << 20  // bytes a second
	paceBurst = 16 << 20 // bytes
	paceRead  = 4 << 10  // what one read counts for at least, however little it brings
)

// Pace bounds how fast a session's output is read. Whoever writes faster
// waits, as its pipe is full. Make it with NewPace; its methods may be called
// from several goroutines, and one pace may serve all of a session's streams.
type Pace struct {
	bytes *rate.Limiter
	ctx   context.Context
	end   context.CancelFunc
}

// NewPace is that of a session that begins. It ends with ctx or by End, of
// which one must come.
func NewPace(ctx context.Context) *Pace {
	p := &Pace{bytes: rate.NewLimiter(paceRate, paceBurst)}
	p.ctx, p.end = context.WithCancel(ctx)
	return p
}

// Spend notes a read of n bytes and blocks until the next one may be made. Call
// it once the bytes were handed on, so that none of them waits.
func (p *Pace) Spend(n int) {
	// An error is the pace's end, or a read larger than any that is made.
	_ = p.bytes.WaitN(p.ctx, max(n, paceRead))
}

// End lets everything through from now on: the writer has ended, and what is
// left is little.
func (p *Pace) End() { p.end() }
