package assistant

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/media"
)

// Receive keeps what a member wrote or did in the chat of the group with that folder, for
// the group's assistant. It returns when the message is kept; after an error the
// channel delivers the message again. Files are fetched afterwards. Receive ignores events
// that the group does not listen to, messages for a group without an assistant, and
// repeats.
func (m *Manager) Receive(ctx context.Context, folder string, in channel.Inbound) error {
	if use, why := useOf(in.Kind); use == ignored {
		m.o.Log.Debug("ignored", "group", folder, "kind", string(in.Kind), "reason", why)
		return nil
	}
	g, ok := m.o.Plans.Registry().ByFolder(folder)
	if !ok || g.Assistant == "" || !listensTo(g, in.Kind) && in.Kind != channel.KindVote {
		return nil
	}
	c, err := m.enter(folder)
	if err != nil {
		return err
	}
	defer m.exit(c)
	if in.Chat != c.group.Chat { // which the group has had until a moment ago
		return nil
	}
	if in.ID == "" { // nothing to know it again by
		in.ID = uuid.NewString()
	}
	inWords(&in)
	if pass, err := m.admit(ctx, c, g, &in); err != nil || !pass {
		return err
	}
	if done, err := m.vote(ctx, c, g, &in); err != nil || done || !listensTo(g, in.Kind) {
		return err
	}
	r := m.recordOf(c, g, in)
	c.receiving.Lock()
	defer c.receiving.Unlock()
	if known, _, err := c.store.knows(r.Key); known || err != nil {
		return err
	}
	m.countTold(cmp.Or(g.Channel, g.Chat.Channel()), folder, in.Told)
	if r.Kind == eventKind {
		return m.keep(c, r, received(in), c.store.rememberingChange(in, r.Sender))
	}
	wants := m.takeFiles(c, r, in)
	also := []change{received(in), c.store.pending(wants...)}
	if remembersAll(g) {
		also = append(also, c.store.remembering([]*record{r}))
	}
	hint, err := m.wantsHint(c, g, r)
	if err != nil {
		return err
	}
	if err := m.keep(c, r, also...); err != nil {
		return err
	}
	if r.Kind == contextKind && in.Kind != channel.KindSticker {
		m.ignore(c, Ignored{NotCalled: 1})
	}
	if hint {
		m.hint(ctx, c, g, r)
	}
	m.expect(c, wants)
	return nil
}

// received ends the channel's entry of what a member wrote or did.
func received(in channel.Inbound) change {
	return func(t *state.Tx) error {
		if in.Entry == nil {
			return nil
		}
		return in.Entry.Done(t)
	}
}

// recordOf makes a record of what a member wrote or did.
func (m *Manager) recordOf(c *chat, g groups.Group, in channel.Inbound) *record {
	r := &record{
		Kind: contextKind, Chat: c.group.Address().String(), Thread: in.Thread, ID: in.ID, Forwarded: in.Forwarded, Author: in.Author,
		From: in.From, Sender: c.store.senderID(in.Sender), Text: in.Text, Time: in.Time,
	}
	r.Key = key(g.Channel, string(in.Chat), r.Sender, in.ID)
	if m.threads(g) == 0 {
		r.Thread = ""
	}
	if year := r.Time.Year(); r.Time.IsZero() || year < 0 || year > 9999 { // which JSON cannot hold
		r.Time = time.Now()
	}
	if in.Quote != nil {
		quote := *in.Quote
		quote.Sender, quote.Also = c.store.senderID(quote.Sender), "" // which no model reads
		quote.Files = nil                                             // which are among the record's
		quote.Selected = media.Cut(quote.Selected, maxQuote)
		if quote.Elsewhere { // the id may be another message's here
			quote.ID = ""
		}
		r.Quote = &quote
	}
	switch calls := starts(g, &in); {
	case isEvent(in.Kind):
		r.Kind, r.Text, r.Event = eventKind, eventText(in), &event{What: in.Kind, Target: in.Target, Starts: calls}
	case calls:
		r.Kind = callKind
	}
	return r
}

// Notify queues a message of the host for a group's assistant, such as that a delivery
// failed after all. An assistant that runs in that thread gets it at once; otherwise it
// goes with the thread's next prompt. A folder without an assistant is an error.
func (m *Manager) Notify(folder, thread, text string) error {
	c, err := m.enter(folder)
	if err != nil {
		return fmt.Errorf("notify assistant: %w", err)
	}
	defer m.exit(c)
	if m.threads(c.group) == 0 {
		thread = ""
	}
	return m.keep(c, &record{Key: key(folder, uuid.NewString()), Kind: noticeKind, Thread: thread, Text: text, Time: time.Now()})
}

// finish ends records, with what the chat, the inbox and the tasks have of them. What also
// changes is part of the same transaction.
func (m *Manager) finish(c *chat, records []*record, also ...change) error {
	if len(records) == 0 && len(also) == 0 {
		return nil
	}
	if err := c.store.do("end messages", append(also, c.store.ending(records))...); err != nil {
		return err
	}
	m.dropFiles(c, records)
	for _, r := range records {
		if r.Kind == taskKind && m.o.Tasks != nil {
			m.o.Tasks.Ended(r.Key)
		}
		if r.Acked {
			m.unack(c, r)
		}
	}
	return nil
}

// keep makes a record durable, with what also changes in the same transaction, and wakes its
// readers.
func (m *Manager) keep(c *chat, r *record, also ...change) error {
	m.mu.Lock()
	over := c.over
	c.over = nil
	m.mu.Unlock()
	err := m.finish(c, over, append([]change{c.store.adding(r)}, also...)...)
	m.mu.Lock()
	if err != nil {
		c.over = append(over, c.over...)
		m.mu.Unlock()
		return err
	}
	t := m.in(c, r.Thread)
	if t == nil {
		t = newConversation(c, r.Thread)
		m.all = append(m.all, t)
	}
	former := t.replaced(r)
	t.giveBack([]*record{r}) // in the order of their places, whoever was faster
	surplus := slices.Concat(former, t.surplus(m.o.Context), m.oldestCalls(c), m.oldestThread(c))
	surplus = slices.DeleteFunc(surplus, func(r *record) bool {
		if waits := r.Kind == contextKind && !r.Acked; waits { // for the next message's transaction
			c.over = append(c.over, r)
			return true
		}
		return false
	})
	if t.phase == running {
		signal(t.nudge)
	}
	m.mu.Unlock()
	signal(m.wake)
	if err := m.finish(c, surplus); err != nil { // r is kept for all that
		m.o.Log.Error("old messages not cleared away", "group", c.group.Folder, "error", err)
	}
	return nil
}
