package turns

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/media"
)

// Receive keeps what a member wrote or did in the chat of the group with that folder, for
// the group's assistant. It returns when the message is kept; after an error the
// channel delivers the message again. Files are fetched afterwards. A member's command, such
// as /stop, is carried out instead; an answer to an assistant's question goes to
// Options.Chat. Receive ignores events that the group does not listen to, messages for a
// group without an assistant, and repeats.
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
	if known, _, err := c.store.Seen(r.Key); known || err != nil {
		return err
	}
	m.countTold(cmp.Or(g.Channel, g.Chat.Channel()), folder, in.Told)
	if r.Kind == inbound.KindEvent {
		return m.keep(c, r, received(in), c.store.RememberingChange(in, r.Sender))
	}
	wants := c.inbox.Take(&r.Message, in)
	for _, w := range wants {
		r.waits[w.Index] = true
	}
	also := []inbound.Change{received(in), c.store.Pending(wants...)}
	if g.History == groups.HistoryAll {
		also = append(also, c.store.Remembering([]*inbound.Message{&r.Message}))
	}
	hint, err := m.wantsHint(c, g, r)
	if err != nil {
		return err
	}
	if err := m.keep(c, r, also...); err != nil {
		return err
	}
	if r.Kind == inbound.KindContext && in.Kind != channel.KindSticker {
		m.ignore(c, Ignored{NotCalled: 1})
	}
	if hint {
		m.hint(ctx, c, g, r)
	}
	m.expect(c, wants)
	return nil
}

// received ends the channel's entry of what a member wrote or did.
func received(in channel.Inbound) inbound.Change {
	return func(t *state.Tx) error {
		if in.Entry == nil {
			return nil
		}
		return in.Entry.Done(t)
	}
}

// recordOf makes a record of what a member wrote or did.
func (m *Manager) recordOf(c *chat, g groups.Group, in channel.Inbound) *record {
	r := newRecord(inbound.Message{
		Kind: inbound.KindContext, Chat: c.group.Address().String(), Thread: in.Thread, ID: in.ID, Forwarded: in.Forwarded, Author: in.Author,
		From: in.From, Sender: c.store.SenderID(in.Sender), Text: in.Text, Time: in.Time,
	})
	r.waits = map[int]bool{}
	r.Key = inbound.Key(g.Channel, string(in.Chat), r.Sender, in.ID)
	if m.threads(g) == 0 {
		r.Thread = ""
	}
	if year := r.Time.Year(); r.Time.IsZero() || year < 0 || year > 9999 { // which JSON cannot hold
		r.Time = time.Now()
	}
	if in.Quote != nil {
		quote := *in.Quote
		quote.Sender, quote.Also = c.store.SenderID(quote.Sender), "" // which no model reads
		quote.Files = nil                                             // which are among the record's
		quote.Selected = media.Cut(quote.Selected, maxQuote)
		if quote.Elsewhere { // the id may be another message's here
			quote.ID = ""
		}
		r.Quote = &quote
	}
	switch calls := starts(g, &in); {
	case isEvent(in.Kind):
		r.Kind, r.Text, r.Event = inbound.KindEvent, eventText(in), &inbound.Event{What: in.Kind, Target: in.Target, Starts: calls}
	case calls:
		r.Kind = inbound.KindCall
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
	return m.keep(c, newRecord(inbound.Message{Key: inbound.Key(folder, uuid.NewString()), Kind: inbound.KindNotice, Thread: thread, Text: text, Time: time.Now()}))
}
