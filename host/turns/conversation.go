package turns

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// phase is how far a group is on its way to a running assistant.
type phase string

const (
	idle    phase = "idle"
	queued  phase = "queued"
	running phase = "running"
)

// chat is the state that the conversations of a group share. A group has one conversation
// for each thread of its chat, and one for the chat itself.
type chat struct {
	group groups.Group // as it was opened: folder and chat stay as long as it does
	store *store
	inbox *inbound.Inbox
	ctx   context.Context    // done when the group has left the configuration
	leave context.CancelFunc // ends ctx
	plans Plans

	receiving sync.Mutex // one message, order or acknowledgement at a time, to keep their order
	updating  sync.Mutex // one file at a time that changes a record
	answers   answerPace // limits the host's answers to members

	// Guarded by Manager.mu.
	running int // conversations whose assistant runs
	ignored Ignored
	turns   Turns
	orders  []*record     // of members, until the chat was told the result
	over    []*record     // messages that nobody needs any more: the next transaction ends them
	changed chan struct{} // closed when there is something new to fetch; nil: nobody waits
	fetched time.Time     // when the assistant elsewhere last asked for messages; zero: never
	users   int           // who works with it at this moment, beside its sessions and inbox
}

// conversation is the messages of one thread, or of the chat itself, and the
// state of their assistant.
type conversation struct {
	*chat
	thread string        // empty: the chat itself
	nudge  chan struct{} // to the running session, of capacity one: look at kept and yielding

	// lost is the time at which contact was lost with a run of this turn that may still be
	// going on; zero if there is none.
	lost time.Time

	// Guarded by Manager.mu.
	kept      []*record // not handed to an assistant, in order
	phase     phase
	place     int       // of the running assistant among those of the chat
	since     time.Time // of the phase, or of resting
	resting   bool      // the running session has nothing to do
	yielding  bool      // the running session is asked to end, to make room
	ending    bool      // the running session gets nothing more
	attempt   int       // how often the messages at the head of kept were tried
	failures  int       // turns in a row that broke
	told      bool      // the chat knows of these failures
	notBefore time.Time // of the next start
	lastErr   string
	cause     cause.Cause // of lastErr, or what keeps the turn under way from its answer; empty: none
	probes    int         // failures in a row with a permanent cause
	began     time.Time   // of the turn that is recorded; zero: none is
	broken    []*turn     // found at start: turns of an earlier host that must not run again
	manner    *manner     // how the running session was started
	stale     bool        // the configuration has changed: the session is ended when it rests
	waits     bool        // the thread was told that another thread's turn comes first
	anew      bool        // the running session is forgotten when it ends
	unheard   bool        // messages that are pushed into the session elsewhere are lost
	announced string      // what the assistant elsewhere could fetch when it was last told of that

	run  context.Context         // of the running session
	halt context.CancelCauseFunc // ends run; nil: none runs
}

// open opens a group with what an earlier host has left, and handles the turns among it.
func (m *Manager) open(g groups.Group, from *left) (*chat, []*conversation, error) {
	c := &chat{group: g, plans: m.o.Plans, store: &store{inbound.NewStore(m.o.State, g.Folder, m.secret, from.Messages)}}
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
	// Messages that the assistant had not read go to the next one, like any other message.
	// Its process has died with its host.
	for _, h := range held {
		inputs := m.inputsOf(c, h.Place)
		if err := m.resume(of(h.Thread), h, inputs.unread()); err != nil {
			return nil, nil, err
		}
		inputs.drain()
	}
	return c, all, nil
}

// logger names the conversation in each line. A thread's id is untrusted.
func (c *conversation) logger(log *slog.Logger) *slog.Logger {
	log = log.With("group", c.group.Folder)
	if c.thread != "" {
		log = log.With("thread", media.Printable(c.thread))
	}
	return log
}

// inputsOf returns the input directory of a chat's assistant in that place.
func (m *Manager) inputsOf(c *chat, place int) *inputs {
	if place == 0 {
		return &inputs{dir: m.o.Layout.IPC(c.group.Folder, ipc.InputDir)}
	}
	return &inputs{dir: filepath.Join(m.o.Layout.Place(c.group.Folder, place), ipc.InputDir)}
}

func newConversation(c *chat, thread string) *conversation {
	return &conversation{chat: c, thread: thread, phase: idle, since: time.Now(), nudge: make(chan struct{}, 1)}
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
		c.attempt = held.Attempt + 1
		held.takeAll() // they wait
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

// called reports whether a waiting message calls the assistant.
func (c *conversation) called() bool { return slices.ContainsFunc(c.free(), (*record).Calls) }

// firstCall returns when the oldest such message was kept.
func (c *conversation) firstCall() time.Time {
	for _, r := range c.free() {
		if r.Calls() {
			return r.Since()
		}
	}
	return time.Now()
}

// giveBack puts records back in their place.
func (c *conversation) giveBack(records []*record) {
	c.kept = append(c.kept, records...)
	slices.SortFunc(c.kept, places)
}

// maxCalls is how many messages that call the assistant may wait. One prompt has room for
// fewer, so no message is lost that the assistant would see.
const maxCalls = 1000

// surplus removes the oldest records from kept that do not call the assistant: messages
// beyond limit, as many notices, and events beyond maxEvents.
func (c *conversation) surplus(limit int) (out []*record) {
	count := map[inbound.Kind]int{}
	for _, r := range c.kept {
		count[r.Kind]++
	}
	return c.cut(func(r *record) bool {
		count[r.Kind]--
		if r.Kind == inbound.KindEvent {
			return count[r.Kind] >= maxEvents
		}
		return !r.Calls() && count[r.Kind] >= limit
	})
}

// cut removes the records from kept for which is returns true.
func (c *conversation) cut(is func(*record) bool) (out []*record) {
	c.kept = slices.DeleteFunc(c.kept, func(r *record) bool {
		if !is(r) {
			return false
		}
		out = append(out, r)
		return true
	})
	return out
}

// urgent reports whether a record waits that a running assistant should get now.
func (c *conversation) urgent() bool {
	return slices.ContainsFunc(c.free(), func(r *record) bool { return r.Calls() || r.Kind == inbound.KindNotice && !r.Quiet })
}

// succeeded handles the end of a successful turn.
func (c *conversation) succeeded() {
	c.failures, c.attempt, c.told, c.lastErr, c.notBefore = 0, 0, false, "", time.Time{}
	c.cause, c.probes, c.unheard = "", 0, false
}
