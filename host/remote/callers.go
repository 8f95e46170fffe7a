package remote

import (
	"context"
	"sync"
)

// callers are the calls under way, so that they end with their token. The zero callers has
// none.
type callers struct {
	mu sync.Mutex
	of map[string]map[*context.CancelCauseFunc]bool // by the token's id, which may be no token's
}

// begin returns the context of a call, which ends when the token does. The caller calls done.
// It begins before the token is looked up: one that is revoked in between ends it too.
func (c *callers) begin(from context.Context, token string) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(from)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]map[*context.CancelCauseFunc]bool{}
	}
	if c.of[token] == nil {
		c.of[token] = map[*context.CancelCauseFunc]bool{}
	}
	c.of[token][&cancel] = true
	return ctx, func() {
		cancel(nil)
		c.mu.Lock()
		defer c.mu.Unlock()
		if delete(c.of[token], &cancel); len(c.of[token]) == 0 {
			delete(c.of, token)
		}
	}
}

// end ends the calls of a token that was revoked.
func (c *callers) end(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for cancel := range c.of[token] {
		(*cancel)(errNoToken)
	}
}

// revoked says that a call's token has ended since it began.
func revoked(ctx context.Context) bool { return context.Cause(ctx) == error(errNoToken) }

// turns let the calls about one delivery come one after the other. The zero turns has none.
type turns struct {
	mu sync.Mutex
	of map[string]*turn // by conversation and delivery
}

type turn struct {
	mu    sync.Mutex
	users int // that have it or wait for it; guarded by turns.mu
}

// take waits for a delivery's turn, which done gives back. The id may be nobody's or another
// conversation's: nobody waits for another one.
func (t *turns) take(who source, id string) (done func()) {
	id = who.folder + "\x00" + who.thread + "\x00" + id
	t.mu.Lock()
	if t.of == nil {
		t.of = map[string]*turn{}
	}
	one := t.of[id]
	if one == nil {
		one = &turn{}
		t.of[id] = one
	}
	one.users++
	t.mu.Unlock()
	one.mu.Lock()
	return func() {
		one.mu.Unlock()
		t.mu.Lock()
		defer t.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(t.of, id)
		}
	}
}
