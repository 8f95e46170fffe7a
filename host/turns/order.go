package turns

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// concerns reports whether an order applies to a thread.
func (r *record) concerns(thread string) bool {
	return r.Order != nil && (r.Order.Whole || r.Thread == thread)
}

// ends reports whether an order ends another record: a call from before the order or, if a
// new conversation begins, any record from before it.
func (r *record) ends(other *record) bool {
	return r.concerns(other.Thread) && other.Order == nil && other.Seq < r.Seq && (other.Calls() || r.Kind == inbound.KindNew)
}

// obey answers a member's order, or carries it out.
func (m *Manager) obey(ctx context.Context, at *conversation, g groups.Group, in *channel.Inbound, w word, more bool) error {
	sender := at.store.SenderID(in.Sender)
	id := inbound.Key(g.Channel, string(in.Chat), sender, in.ID)
	// A message that begins a thread is for the chat, as is one outside all threads.
	whole := at.thread == "" || in.Thread == in.ID
	switch w {
	case stopWord, newWord:
		r := newRecord(inbound.Message{
			Key: id, Kind: inbound.Kind(w), Chat: g.Address().String(), Thread: at.thread, ID: in.ID, Sender: sender, Time: time.Now(),
			Order: &inbound.Order{Whole: whole, More: more},
		})
		return m.order(ctx, at, r, sender, received(*in))
	case statusWord:
		if at.answers.allow(sender) {
			m.answer(ctx, at, m.statusText(g, at, whole), inbound.Key(id, string(w)))
		}
	case helpWord:
		text, err := m.helpText(ctx, g, in)
		if err != nil {
			return err
		}
		if at.answers.allow(sender) {
			m.answer(ctx, at, text, inbound.Key(id, string(w)))
		}
	}
	return nil
}

// order makes an order durable and carries it out. An order that ends nothing is only
// answered, and not kept.
func (m *Manager) order(ctx context.Context, at *conversation, r *record, sender string, also inbound.Change) error {
	c := at.chat
	c.receiving.Lock()
	defer c.receiving.Unlock()
	if known, _, err := c.store.Seen(r.Key); known || err != nil {
		return err
	}
	m.survey(c, r)
	if r.Kind == inbound.KindStop && len(r.Order.Stopped) == 0 && r.Order.Waited == 0 {
		if at.answers.allow(sender) {
			m.answer(ctx, at, nothingRuns, inbound.Key(r.Key, string(r.Kind)))
		}
		return nil
	}
	m.o.Log.Info("a member's order", "group", c.group.Folder, "order", string(r.Kind), "member", r.Sender, "turns", len(r.Order.Stopped), "waiting", r.Order.Waited)
	return m.enact(c, r, also)
}

// StopGroup ends what the assistants of a group do in all threads, and drops what waits, as
// a member's /stop for the whole chat. The chat is told, also by the next host if this
// one dies before. It returns how many turns and waiting messages it ended, and says
// nothing in the chat if there were none. A folder without an assistant is an error.
func (m *Manager) StopGroup(folder string) (turns, waited int, err error) {
	c, err := m.enter(folder)
	if err != nil {
		return 0, 0, fmt.Errorf("stop assistant: %w", err)
	}
	defer m.exit(c)
	c.receiving.Lock()
	defer c.receiving.Unlock()
	r := newRecord(inbound.Message{
		Key: inbound.Key(folder, uuid.NewString()), Kind: inbound.KindStop, Chat: c.configured().Address().String(), Time: time.Now(),
		Order: &inbound.Order{Whole: true},
	})
	m.survey(c, r)
	turns, waited = len(r.Order.Stopped), r.Order.Waited
	if turns == 0 && waited == 0 {
		return 0, 0, nil
	}
	m.o.Log.Info("an operator's order", "group", folder, "order", string(r.Kind), "turns", turns, "waiting", waited)
	return turns, waited, m.enact(c, r)
}

// enact makes an order durable and carries it out. The caller holds c.receiving.
func (m *Manager) enact(c *chat, r *record, also ...inbound.Change) error {
	if err := m.finish(c, nil, append(also, c.store.Adding(&r.Message), c.forgettingSessions(r))...); err != nil {
		return err
	}
	m.mu.Lock()
	c.orders = append(c.orders, r)
	m.carryOut(c, r)
	m.mu.Unlock()
	wake.Up(m.wake)
	return nil
}

// survey notes what an order will end.
func (m *Manager) survey(c *chat, r *record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.all {
		if t.chat != c || !r.concerns(t.thread) {
			continue
		}
		for range calling(t.kept) {
			r.Order.Waited++
		}
		if t.phase == running && !t.resting {
			started := t.began
			if started.IsZero() {
				started = t.since
				if t.ending { // it has answered
					continue
				}
			}
			r.Order.Stopped = append(r.Order.Stopped, inbound.Stopped{Thread: t.thread, Started: started})
		}
	}
}

// carryOut removes the records that an order ends, and stops their turns. The caller holds
// mu.
func (m *Manager) carryOut(c *chat, r *record) {
	c.over = slices.DeleteFunc(c.over, func(old *record) bool { // a later host would keep them again
		ends := r.ends(old)
		if ends {
			r.gone = append(r.gone, old)
		}
		return ends
	})
	for _, t := range m.all {
		if t.chat != c || !r.concerns(t.thread) {
			continue
		}
		r.gone = append(r.gone, t.cut(r.ends)...)
		t.succeeded()
		if t.phase == running && (!t.resting || r.Kind == inbound.KindNew) {
			t.anew = t.anew || r.Kind == inbound.KindNew
			t.halt(errOrdered)
		}
	}
}

// forgettingSessions makes the next turn begin a new conversation, in the threads of an order
// that asks for it. Running sessions are forgotten at their end.
func (c *chat) forgettingSessions(r *record) inbound.Change {
	switch {
	case r.Kind != inbound.KindNew:
		return func(*state.Tx) error { return nil }
	case r.Order.Whole:
		return c.store.forgettingSessions()
	}
	return c.store.forgettingSession(r.Thread)
}

// finishOrders reports carried-out orders to their chats, before another session of the
// chat begins.
func (m *Manager) finishOrders(ctx context.Context) {
	m.mu.Lock()
	var done []*record
	chats := map[*record]*chat{}
	for _, c := range m.byGroup {
		c.orders = slices.DeleteFunc(c.orders, func(r *record) bool {
			if slices.ContainsFunc(m.all, func(t *conversation) bool {
				return t.chat == c && r.concerns(t.thread) && t.stopping()
			}) {
				return false
			}
			done, chats[r] = append(done, r), c
			return true
		})
	}
	m.mu.Unlock()
	slices.SortFunc(done, places)
	for _, r := range done {
		c := chats[r]
		m.clear(c, r.gone)
		if m.tell(ctx, newConversation(c, r.Thread), m.stopReply(c, r), inbound.Key(r.Key, string(r.Kind))) == nil { // else a later host tells
			m.clear(c, []*record{r})
		}
	}
}
