package link

import (
	"context"
	"sync"
)

// Gate keeps what a connection needs open while somebody uses it: a Send enters,
// and Close waits until all have left. The zero Gate is closed; make one with
// NewGate.
type Gate struct {
	ctx context.Context // of all who are inside
	end context.CancelFunc

	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup
}

// NewGate makes an open Gate. ctx carries values only: Close alone ends it.
func NewGate(ctx context.Context) *Gate {
	g := &Gate{}
	g.ctx, g.end = context.WithCancel(context.WithoutCancel(ctx))
	return g
}

// Context ends when Close begins.
func (g *Gate) Context() context.Context { return g.ctx }

// Enter keeps Close waiting until leave, which is called once. The context that
// it returns is ctx, and ends with the Gate as well. It is refused once Close has
// begun.
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

// Close lets nobody in any more, ends the contexts of those inside, and waits
// until they have left.
func (g *Gate) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.end()
	g.inside.Wait()
}
