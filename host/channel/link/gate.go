package link

import (
	"context"
	"sync"
)

// Gate keeps the resources of a connection open while they are in use: a Send enters, and Close
// waits until all have left. The zero Gate is closed; NewGate returns an open one.
type Gate struct {
	ctx context.Context // parent of every context that Enter returns
	end context.CancelFunc

	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup
}

// NewGate returns an open Gate. ctx only carries values; only Close ends it.
func NewGate(ctx context.Context) *Gate {
	g := &Gate{}
	g.ctx, g.end = context.WithCancel(context.WithoutCancel(ctx))
	return g
}

// Context returns a context that ends when Close begins.
func (g *Gate) Context() context.Context { return g.ctx }

// Enter makes Close wait until leave is called, which the caller does once. The returned context is
// ctx, but also ends with the Gate. Enter fails after Close has begun.
func (g *Gate) Enter(ctx context.Context) (inner context.Context, leave func(), ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, nil, false
	}
	g.inside.Add(1)
	inner, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(g.ctx, cancel)
	return inner, func() {
		stop()
		cancel()
		g.inside.Done()
	}, true
}

// Close refuses further calls of Enter, ends the contexts of those inside, and
// waits until they have left.
func (g *Gate) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.end()
	g.inside.Wait()
}
