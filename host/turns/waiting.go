package turns

import (
	"context"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// maxTold is how many waiting threads of a chat are told so at a time. The others are told
// when these get their turn: a member who writes in a thousand threads floods no chat.
const maxTold = 20

// tellWaiting tells threads why nobody answers yet, if another thread's turn has to end
// first.
func (m *Manager) tellWaiting(ctx context.Context) {
	said := map[*conversation]string{} // by the key of what they wrote
	know := map[*chat]int{}
	m.mu.Lock()
	for _, c := range m.queue {
		if c.waits {
			know[c.chat]++
		}
	}
	for _, c := range m.queue {
		if m.occupied(c.chat) && !c.waits && time.Since(c.since) >= waitPatience && know[c.chat] < maxTold {
			know[c.chat]++
			c.waits = true
			for r := range calling(c.kept) {
				said[c] = r.Key
			}
		}
	}
	m.mu.Unlock()
	for c, of := range said {
		m.answer(ctx, c, waitsTurn, inbound.Key(of, waitsTurn))
	}
}

// occupied reports whether an assistant of the chat has to end before another one of it
// can start.
func (m *Manager) occupied(c *chat) bool {
	return c.running >= max(1, c.configured().Parallel)
}

// hasRoom decides where a waiting conversation's assistant runs, and reports whether it may start. The
// assistants of a chat that run at the same time are on one engine.
func (m *Manager) hasRoom(c *conversation) bool {
	c.full = false
	if m.occupied(c.chat) {
		return false
	}
	known := true
	if c.chat.running > 0 {
		i := slices.IndexFunc(m.all, func(t *conversation) bool { return t.chat == c.chat && t.phase == running })
		c.on = Placement{Engine: m.all[i].on.Engine}
	} else {
		c.on, known = m.o.Plans.Placement(c.configured(), m.running)
	}
	c.full = known && m.running[c.on.Engine] >= m.limits().AtOnce
	return known && !c.full
}

// freePlace returns a place of a conversation's chat where no assistant runs. If possible it
// is the place of the conversation's last assistant: a container with which the host has
// lost contact ends when another one takes its place.
func (m *Manager) freePlace(c *conversation) int {
	taken := func(n int) bool {
		return slices.ContainsFunc(m.all, func(t *conversation) bool { return t.chat == c.chat && t.phase == running && t.place == n })
	}
	if !taken(c.place) && c.place < max(1, c.configured().Parallel) {
		return c.place
	}
	n := 0
	for taken(n) {
		n++
	}
	return n
}

// makeRoom asks assistants that are idle to end, as many as are waited for: those
// of a chat in which another thread waits, and otherwise those that have been idle
// longest on the engine that has no room.
func (m *Manager) makeRoom() {
	wanted, awaited := map[string]int{}, map[*chat]bool{}
	for _, c := range m.queue {
		if m.occupied(c.chat) {
			awaited[c.chat] = true
		} else if c.full {
			wanted[c.on.Engine]++
		}
	}
	var resting []*conversation
	for _, c := range m.all {
		switch {
		case c.resting && awaited[c.chat]:
			c.yielding = true
			wake.Up(c.nudge)
		case c.yielding:
			wanted[c.on.Engine]--
		case c.resting:
			resting = append(resting, c)
		}
	}
	slices.SortFunc(resting, func(a, b *conversation) int { return a.since.Compare(b.since) })
	for _, c := range resting {
		if wanted[c.on.Engine]--; wanted[c.on.Engine] >= 0 {
			c.yielding = true
			wake.Up(c.nudge)
		}
	}
}

// ended handles the end of a session.
func (m *Manager) ended(c *conversation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.resting, c.yielding, c.ending, c.manner, c.stale = false, false, false, nil, false
	c.halt(nil)
	c.run, c.halt = nil, nil
	c.chat.running--
	m.running[c.on.Engine]--
	m.dismiss(c)
	m.forgetLeft(c.chat)
	wake.Up(m.wake)
}

// waitPatience is how long a thread waits for another thread's turn before it is told so.
const waitPatience = 20 * time.Second
