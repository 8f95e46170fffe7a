package tokens

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

// Begin returns the context of a call, which ends when its token is revoked. The caller calls
// done. It is called before Authenticate, so that no revocation falls in between.
func (t *Tokens) Begin(from context.Context, bearer string) (ctx context.Context, done func()) {
	c, leave := &t.callers, t.sessions.enter(from)
	token, _ := parse(bearer)
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
		defer leave()
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
		(*cancel)(ErrUnauthorized)
	}
}

// Revoked reports whether a call's token was revoked since the call began.
func Revoked(ctx context.Context) bool { return context.Cause(ctx) == error(ErrUnauthorized) }
