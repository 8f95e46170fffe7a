package turns

import (
	"context"
	"time"

	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// The limits of what a conversation keeps while its assistant waits for an operator: the
// newest messages that call it, by number and by bytes of text.
const (
	maxHeld      = 100
	maxHeldBytes = 1 << 20
)

// maxProbe is the longest time between two checks whether a permanent cause is gone.
const maxProbe = 10 * time.Minute

// held reports whether messages wait until an operator has fixed something, or until an
// assistant elsewhere has acknowledged them.
func (c *conversation) held() bool {
	return c.phase != running && (c.cause.Permanent() || c.fetches()) && c.called()
}

// tooMany removes the records that a held conversation does not keep: the oldest messages
// beyond the limits, and those from before since.
func (c *conversation) tooMany(since time.Time) []*record {
	calls, bytes := 0, 0
	drop := map[*record]bool{}
	for i := len(c.kept) - 1; i >= 0; i-- {
		r := c.kept[i]
		if !r.Calls() {
			continue
		}
		calls++
		bytes += len(r.Text)
		drop[r] = calls > maxHeld || bytes > maxHeldBytes && calls > 1 || r.Since().Before(since)
	}
	return c.cut(func(r *record) bool { return drop[r] })
}

// sortHeld drops the records that held conversations no longer keep, and tells their
// chats.
func (m *Manager) sortHeld(ctx context.Context) {
	hold := m.limits().Hold
	for c, gone := range m.takeTooMany(time.Now().Add(-hold)) {
		words := expired(len(gone), hold)
		m.answer(ctx, c, words, inbound.Key(gone[len(gone)-1].Key, words))
		m.clear(c.chat, gone)
		c.logger(m.o.Log).Warn("messages were not answered: they waited too long for an operator, or were too many", "messages", len(gone))
	}
}

func (m *Manager) takeTooMany(since time.Time) map[*conversation][]*record {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[*conversation][]*record{}
	for _, c := range m.all {
		if !c.held() {
			continue
		}
		if gone := c.tooMany(since); len(gone) > 0 {
			all[c] = gone
		}
	}
	return all
}

// mended makes conversations retry at once whose cause may be gone: those of the assistant
// with that name; or all, and those that wait for an engine. The caller holds mu.
func (m *Manager) mended(assistant string) {
	for _, c := range m.all {
		engine := assistant == "" && c.cause == cause.Engine && c.phase != running
		if engine || c.held() && (assistant == "" || c.configured().Assistant == assistant) {
			c.notBefore = time.Time{}
		}
	}
	wake.Up(m.wake)
}
