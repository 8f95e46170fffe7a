package whatsapptest

import (
	"context"
	"slices"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types/events"
)

// note runs on the client's receive queue and must not block.
func (m *Member) note(e any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, e)
	close(m.changed)
	m.changed = make(chan struct{})
}

// Mark is now, as a place in the list of what a member's client has told.
type Mark int

// Mark returns a mark after all events so far.
func (m *Member) Mark() Mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Mark(len(m.events))
}

// Await returns the first event of type E after the mark for which match is
// true, or any of that type where match is nil; it waits for one to come.
// E is a pointer to one of the structs of whatsmeow's types/events.
func Await[E any](ctx context.Context, m *Member, since Mark, match func(E) bool) (E, error) {
	for at := int(since); ; {
		m.mu.Lock()
		fresh, changed := m.events[at:], m.changed
		m.mu.Unlock()
		for _, e := range fresh {
			if typed, ok := e.(E); ok && (match == nil || match(typed)) {
				return typed, nil
			}
		}
		at += len(fresh)
		select {
		case <-changed:
		case <-ctx.Done():
			var none E
			return none, ctx.Err()
		}
	}
}

// Next returns the next message that a person would see, in the order of
// arrival, each once; it waits for one to come. Own messages sent from
// another device of the phone are among them.
func (m *Member) Next(ctx context.Context) (*events.Message, error) {
	for {
		m.mu.Lock()
		changed := m.changed
		for ; m.next < len(m.events); m.next++ {
			if e, ok := m.events[m.next].(*events.Message); ok && visible(e.Message) {
				m.next++
				m.mu.Unlock()
				return e, nil
			}
		}
		m.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Messages lists the messages so far that a person would see, without taking
// them from Next.
func (m *Member) Messages() []*events.Message {
	return slices.DeleteFunc(m.Everything(), func(e *events.Message) bool { return !visible(e.Message) })
}

// Everything is Messages and what changes, deletes or announces messages.
func (m *Member) Everything() []*events.Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []*events.Message
	for _, e := range m.events {
		if e, ok := e.(*events.Message); ok {
			list = append(list, e)
		}
	}
	return list
}

// CaughtUp returns once the client has taken in all that the server has for it.
func (m *Member) CaughtUp(ctx context.Context) error {
	if err := m.srv.Await(ctx, m.Phone.Settled); err != nil {
		return err
	}
	return m.Client.SetPassive(ctx, false) // a question whose answer comes after all else
}

// visible is false for messages by which clients only run the protocol, such
// as the key that a new sender in a group hands out.
func visible(m *waE2E.Message) bool {
	return Text(m) != "" || Downloadable(m) != nil || m.GetReactionMessage() != nil || m.GetPollCreationMessage() != nil
}
