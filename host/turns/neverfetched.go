package turns

import (
	"context"
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// attendElsewhere looks after a conversation whose assistant lives elsewhere. It tells
// those who wait for messages that there are some, notices that nobody fetches them, and
// returns when it is to be called again. The caller holds mu.
func (m *Manager) attendElsewhere(c *conversation, now time.Time) time.Duration {
	free := c.free()
	newest := ""
	if len(free) > 0 && c.urgent() {
		newest = fmt.Sprint(len(free), free[len(free)-1].Seq)
	}
	if newest != c.announced && newest != "" && c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
	c.announced = newest
	if !c.called() {
		c.unheard = false
		c.present()
		return time.Hour
	}
	wait := m.limits().Hold
	for _, r := range free {
		if r.Calls() {
			wait = min(wait, max(m.neverFetchedAfter(c, r, now), 0), max(r.Since().Add(wait).Sub(now), time.Second))
			break
		}
	}
	why := "it does not fetch or acknowledge its messages"
	if c.unheard {
		wait, why = 0, "the messages are pushed into its session, and the session does not take them"
	}
	if wait > 0 {
		return wait
	}
	if c.cause != cause.Absent {
		c.cause, c.lastErr, c.told = cause.Absent, why, false
		m.troubles[cause.Absent]++
		c.logger(m.o.Log).Warn("assistant elsewhere has trouble", "cause", string(cause.Absent))
	}
	return time.Minute
}

// neverFetchedAfter is how long the assistant may still take for a message that calls it: the
// chat's patience to fetch it, then a turn's time to acknowledge it, counted anew while it
// asks for messages.
func (m *Manager) neverFetchedAfter(c *conversation, r *record, now time.Time) time.Duration {
	if !r.read() {
		return later(r.Since(), c.since).Add(m.limits().NoticeAfter).Sub(now)
	}
	last := later(r.fetchedAt, c.fetched)
	turn := m.o.TurnTimeout
	if plan, err := m.o.Plans.Plan(c.configured()); err == nil {
		turn = or(plan.TurnTimeout, turn)
	}
	return last.Add(turn).Sub(now)
}

// Unheard takes note that a message was pushed into the session of an assistant elsewhere
// several times and is not acknowledged. The chat and the operator are told, until the
// session acknowledges a message. done is false if the message has ended. The error is
// ErrNoMessage for an unknown id, and ErrNotElsewhere.
func (m *Manager) Unheard(folder, thread, id string) (done bool, err error) {
	c, err := m.enterElsewhere(folder)
	if err != nil {
		return false, err
	}
	defer m.exit(c)
	if !c.store.made(thread, id) {
		return false, ErrNoMessage
	}
	if m.waiting(c, thread, id) == nil {
		return false, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.in(c, thread); t != nil && t.called() {
		t.unheard = true
		wake.Up(m.wake)
	}
	return true, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// tellNeverFetched tells chats that nobody fetches their messages.
func (m *Manager) tellNeverFetched(ctx context.Context) {
	said := map[*conversation]string{} // by the key of the message that waits longest
	m.mu.Lock()
	for _, c := range m.all {
		if c.cause != cause.Absent || c.told || c.left() {
			continue
		}
		for _, r := range c.free() {
			if r.Calls() {
				c.told, said[c] = true, r.Key
				break
			}
		}
	}
	m.mu.Unlock()
	words := waitsFor(cause.Absent, "", m.limits().Hold)
	for c, of := range said {
		m.answer(ctx, c, words, inbound.Key(of, string(cause.Absent)))
	}
}
