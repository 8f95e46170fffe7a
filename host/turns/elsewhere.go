package turns

import (
	"context"
	"crypto/hmac"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/internal/wake"
	"github.com/longshore-bridge/longshore/ipc"
)

// The bounds of what an assistant elsewhere gets at once: messages, the bytes of their texts
// unless there is one message, and the bytes of one message's transcripts.
const (
	maxInbox       = 100
	maxInboxText   = 128 << 10
	maxTranscripts = 64 << 10
)

// ErrNotElsewhere is returned for a group whose assistant does not fetch its messages.
var ErrNotElsewhere error = &refusal.Error{
	Code: "no_inbox", Message: "this group's assistant does not fetch its messages",
	Hint: "the operator gives the group an assistant with runtime: remote; see docs/remote.md",
}

// ErrNoMessage is returned for an id that no message of the conversation ever had.
var ErrNoMessage error = &refusal.Error{
	Code: "unknown_message", Message: "no message of this conversation has this id", Hint: "use the ids that the inbox lists",
}

// ErrNoRoom is returned for an answer while too much of the group waits to be sent.
var ErrNoRoom error = &refusal.Error{
	Code: "busy", Message: "too much of this group waits to be sent, so the answer is not taken", Hint: "repeat the call later",
}

// enterElsewhere is enter for a group whose assistant fetches its messages.
func (m *Manager) enterElsewhere(folder string) (*chat, error) {
	if g, ok := m.o.Plans.Registry().ByFolder(folder); !ok || g.Assistant == "" || !m.o.Plans.Elsewhere(g) {
		return nil, ErrNotElsewhere
	}
	return m.enter(folder)
}

// ErrCursor is returned for a cursor that is not the id of a message of the conversation.
var ErrCursor error = &refusal.Error{
	Code: "wrong_value", Message: "the cursor is not one of this conversation", Hint: "use the cursor of the last answer, or fetch without one",
}

// Fetch returns the messages of a thread that the group's assistant, which lives elsewhere,
// has not acknowledged: those behind the cursor after, or all if it is empty, oldest first.
// changed is closed when there may be others. A message that calls nobody is given with
// the next one that does. Fetch returns ErrNotElsewhere for another group, and ErrCursor;
// other errors pass.
func (m *Manager) Fetch(ctx context.Context, folder, thread, after string) (in ipc.Inbox, changed <-chan struct{}, err error) {
	c, err := m.enterElsewhere(folder)
	if err != nil {
		return in, nil, err
	}
	defer m.exit(c)
	if after != "" && !c.store.made(thread, after) {
		return in, nil, ErrCursor
	}
	c.updating.Lock() // no file of a message changes meanwhile
	defer c.updating.Unlock()
	m.mu.Lock()
	c.fetched = time.Now()
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	changed = c.changed
	given, fresh, waiting := m.give(c, thread, after)
	acked := m.toAck(c, fresh)
	m.mu.Unlock()
	m.remember(c, fresh)
	m.showAck(ctx, c, acked)
	in = ipc.Inbox{Messages: []ipc.Message{}, Cursor: after, Waiting: waiting}
	for _, g := range given {
		in.Messages = append(in.Messages, m.message(c, thread, g))
		in.Cursor = c.store.inboxID(thread, &g.record)
	}
	return in, changed, nil
}

// given is a record as an assistant elsewhere gets it.
type given struct {
	record      // a copy
	asks   bool // it is of a burst that calls the assistant
}

// give chooses what a thread's assistant gets now. fresh are those records that it gets for
// the first time. The caller holds mu.
func (m *Manager) give(c *chat, thread, after string) (all []given, fresh []*record, waiting int) {
	t := m.in(c, thread)
	if t == nil {
		return nil, nil, 0
	}
	t.present()
	room, behind := maxInboxText, placeOf(after)
	for _, r := range t.forFetching() {
		waiting++
		if placeIn(r) <= behind || room < 0 {
			continue
		}
		if room -= weight(&r.Message); len(all) == maxInbox || room < 0 && len(all) > 0 {
			room = -1
			continue
		}
		if !r.read() {
			r.fetchedAt = time.Now()
			fresh = append(fresh, r)
		}
		all = append(all, given{record: *r})
	}
	for b := range bursts(t.kept, t.configured().Gather) {
		for i := range all {
			all[i].asks = all[i].asks || all[i].Calls() || all[i].Kind == inbound.KindContext && !b.called.IsZero() && b.has(all[i].Seq)
		}
	}
	return all, fresh, waiting
}

func (b *burst) has(id int64) bool {
	return slices.ContainsFunc(b.records, func(r *record) bool { return r.Seq == id })
}

// forFetching returns what an assistant elsewhere may fetch: all that is complete if
// something calls it, otherwise what it has fetched before. The caller holds Manager.mu.
func (c *conversation) forFetching() []*record {
	free := slices.Clone(c.free())
	if c.urgent() {
		return free
	}
	return slices.DeleteFunc(free, func(r *record) bool { return !r.read() })
}

// present handles that the assistant elsewhere is there. The caller holds Manager.mu.
func (c *conversation) present() {
	if c.cause == cause.Absent && !c.unheard {
		c.succeeded()
	}
}

// placeSize is how many digits a record's place has in its id for assistants elsewhere.
const placeSize = 20

func placeIn(r *record) string { return fmt.Sprintf("%0*d", placeSize, r.Seq) }

// placeOf returns the place in an id that inboxID has made; that of no id is before all.
func placeOf(id string) string {
	at, _, _ := strings.Cut(id, "-")
	return at
}

// inboxID is the id of a record for an assistant elsewhere. Nobody can make one for another
// thread, or for a message that never was.
func (s *groupState) inboxID(thread string, r *record) string { return s.signed(thread, placeIn(r)) }

func (s *groupState) signed(thread, place string) string {
	return place + "-" + s.Sign("inbox\x00"+thread+"\x00"+place)
}

// made reports whether inboxID has made an id for a thread.
func (s *groupState) made(thread, id string) bool {
	place := placeOf(id)
	return len(place) == placeSize && hmac.Equal([]byte(s.signed(thread, place)), []byte(id))
}

// Ack ends a message that the assistant elsewhere has finished with. answer, if it is not
// empty, goes to the message's thread, once, however often Ack is called. done is false if
// the message had ended before, such as by an earlier Ack or a member's /stop: then nothing
// is sent. The error is ErrNoMessage for an unknown id, and ErrNotElsewhere; ErrNoRoom and others
// pass.
func (m *Manager) Ack(ctx context.Context, folder, thread, id, answer string) (done bool, err error) {
	c, err := m.enterElsewhere(folder)
	if err != nil {
		return false, err
	}
	defer m.exit(c)
	if !c.store.made(thread, id) {
		return false, ErrNoMessage
	}
	c.receiving.Lock()
	defer c.receiving.Unlock()
	r := m.waiting(c, thread, id)
	if r == nil {
		return false, nil
	}
	if answer = chatText(&answer); answer != "" {
		if err := m.o.Chat.Room(folder); err != nil {
			m.o.Log.Warn("answer not taken", "group", folder, "error", err)
			return false, ErrNoRoom
		}
		if err := m.say(ctx, newConversation(c, thread), answer, inbound.Key(r.Key, "answer")); err != nil {
			return false, err
		}
	}
	if err := m.finish(c, []*record{r}); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c.fetched = time.Now()
	m.acknowledged(c, r, thread)
	wake.Up(m.wake)
	return true, nil
}

// acknowledged takes a finished record out of its conversation. The caller holds mu.
func (m *Manager) acknowledged(c *chat, r *record, thread string) {
	c.turns.Done = time.Now()
	if r.Calls() {
		c.turns.Answered++
	}
	t := m.in(c, thread)
	if t == nil {
		return
	}
	t.cut(func(other *record) bool { return other == r })
	t.succeeded()
	if t.phase == idle {
		m.dismiss(t)
	}
}

// waiting returns the record of an id, or nil if it has ended.
func (m *Manager) waiting(c *chat, thread, id string) *record {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.in(c, thread)
	if t == nil {
		return nil
	}
	for _, r := range t.kept {
		if placeIn(r) == placeOf(id) {
			return r
		}
	}
	return nil
}

// message is a record in the form that an assistant elsewhere gets.
func (m *Manager) message(c *chat, thread string, g given) ipc.Message {
	r := &g.record
	out := ipc.Message{
		ID: c.store.inboxID(thread, r), Kind: "message", Calls: g.asks, Time: r.Time.UTC(), Thread: r.Thread,
		MessageID: r.ID, From: inbound.Visible(inbound.OneLine(r.From)), SenderID: r.Sender, Text: inbound.Visible(inbound.Cut(r.Text, maxText)), Forwarded: r.Forwarded, Author: inbound.Visible(inbound.OneLine(r.Author)),
	}
	switch r.Kind {
	case inbound.KindNotice, inbound.KindTask:
		out.Kind = string(r.Kind)
	case inbound.KindEvent:
		out.Kind, out.Event, out.Target = string(r.Kind), string(r.Event.What), r.Event.Target
	}
	out.Quote = r.QuoteFor(maxQuote)
	room := maxTranscripts
	for i, f := range r.Files {
		file := m.messageFile(c, f, i+1)
		file.Transcript = inbound.Cut(file.Transcript, room)
		room = max(room-len(file.Transcript), 0)
		out.Files = append(out.Files, file)
	}
	return out
}

// toAck marks the last of the records that calls the assistant, if the group's `ack` asks
// for it, and returns a copy. The caller holds mu.
func (m *Manager) toAck(c *chat, fresh []*record) *record {
	if c.configured().Ack == "" {
		return nil
	}
	for _, r := range slices.Backward(fresh) {
		if r.Kind == inbound.KindCall && r.ID != "" && !r.Acked {
			r.Acked = true
			acked := *r
			return &acked
		}
	}
	return nil
}

// showAck reacts to a record that toAck has marked.
func (m *Manager) showAck(ctx context.Context, c *chat, r *record) {
	if r == nil {
		return
	}
	err := c.store.Do("keep message", c.store.Updating(&r.Message)) // before the reaction, as in ack
	if err == nil {
		err = m.o.Chat.React(ctx, c.group.Folder, r.Thread, r.ID, c.configured().Ack, inbound.Key(r.Key, "ack"))
	}
	if err != nil {
		m.o.Log.Warn("message not reacted to", "group", c.group.Folder, "error", err)
	}
}
