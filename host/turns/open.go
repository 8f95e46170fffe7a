package turns

import (
	"context"
	"slices"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/inbound"
)

// open opens a group with what an earlier host has left, and handles the turns among it.
func (m *Manager) open(g groups.Group, from *leftover) (*chat, []*conversation, error) {
	c := &chat{group: g, plans: m.o.Plans, store: &groupState{inbound.NewStore(m.o.State, g.Folder, m.secret, from.Messages)}}
	c.ctx, c.leave = context.WithCancel(context.Background())
	c.inbox = m.files.Open(c.ctx, g, c.store.Store, waitingFiles{m, c}, from.Files)
	held := from.turns
	kept, err := m.leaveElsewhere(c, from.kept, held)
	if err != nil {
		return nil, nil, err
	}
	if kept, held, err = m.replay(c, kept, held); err != nil {
		return nil, nil, err
	}
	all := []*conversation{newConversation(c, "")}
	of := func(thread string) *conversation {
		i := slices.IndexFunc(all, func(t *conversation) bool { return t.thread == thread })
		if i < 0 {
			i, all = len(all), append(all, newConversation(c, thread))
		}
		return all[i]
	}
	for _, r := range kept {
		t := of(r.Thread)
		t.kept = append(t.kept, r)
	}
	if m.o.Idle {
		held = nil
	}
	// Messages that the assistant had not read go to the next one, like any other message.
	for _, h := range held {
		inputs := m.inputsOf(c, h.Place)
		if err := m.resume(of(h.Thread), h, inputs.neverRead()); err != nil {
			return nil, nil, err
		}
		inputs.drain()
	}
	return c, all, nil
}

// resume retries a turn that an earlier host has left, unless a second run could send
// something twice.
func (m *Manager) resume(c *conversation, held *turn, unread map[string]bool) error {
	held.unread(unread)
	switch {
	case held.empty():
	case m.sentSince(c, held.Started, held.Remarks) || held.Attempt+1 >= m.o.Attempts:
		c.kept = slices.DeleteFunc(c.kept, held.holds)
		c.broken = append(c.broken, held)
	default:
		c.attempt, c.lost = held.Attempt+1, held.Started // its container may still run
		held.takeAll()                                   // they wait
	}
	return c.store.Do("note turn", c.store.savingTurn(held))
}

// leaveElsewhere leaves out messages from a former chat of the group: the present chat
// must not see them. A turn that had sent something there has ended.
func (m *Manager) leaveElsewhere(c *chat, kept []*record, held []*turn) ([]*record, error) {
	kept = slices.DeleteFunc(kept, func(r *record) bool { return inbound.Elsewhere(r.Chat, c.group) })
	var over []*record
	for _, h := range held {
		for _, r := range h.records {
			if inbound.Elsewhere(r.Chat, c.group) {
				over = append(over, r)
				h.take(r.Seq)
			}
		}
	}
	if len(over) == 0 {
		return kept, nil
	}
	m.o.Log.Warn("a turn ended with the group's former chat", "group", c.group.Folder, "messages", len(over))
	return kept, m.finish(c, over)
}

// settleInterrupted tells a group's chat about turns that were lost with an earlier host.
func (m *Manager) settleInterrupted(ctx context.Context, c *conversation) {
	lost := c.broken
	c.broken = nil
	for _, t := range lost {
		words := gaveUp
		if m.sentSince(c, t.Started, t.Remarks) {
			words = interrupted
		}
		m.o.Log.Warn("turn was lost with an earlier host", "group", c.group.Folder)
		if m.tell(ctx, c, words, inbound.Key(t.ID, words)) != nil {
			continue
		}
		m.clear(c.chat, t.takeAll(), c.store.savingTurn(t))
	}
}

// replay carries out the orders that an earlier host has left, before it resumes anything
// that they end.
func (m *Manager) replay(c *chat, kept []*record, held []*turn) ([]*record, []*turn, error) {
	var over []*record
	var also []inbound.Change
	for _, r := range kept {
		if r.Order == nil {
			continue
		}
		c.orders = append(c.orders, r)
		for _, h := range held {
			if r.concerns(h.Thread) && h.before(r) {
				over = append(over, h.takeAll()...)
			}
		}
		for _, other := range kept {
			if r.ends(other) {
				over = append(over, other)
			}
		}
		also = append(also, c.forgettingSessions(r))
	}
	if len(c.orders) == 0 {
		return kept, held, nil
	}
	kept = slices.DeleteFunc(kept, func(r *record) bool { return r.Order != nil || slices.Contains(over, r) })
	return kept, held, m.finish(c, over, also...)
}
