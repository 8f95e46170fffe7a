package turns

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/media"
)

// phase is how far a conversation is on its way to a running assistant.
type phase string

const (
	idle    phase = "idle"
	queued  phase = "queued"
	running phase = "running"
)

// chat is the state that the conversations of a group share. A group has one conversation
// for each thread of its chat, and one for the chat itself.
type chat struct {
	group     groups.Group // as it was opened: folder and chat stay as long as it does
	store     *groupState
	inbox     *inbound.Inbox
	ctx       context.Context    // done when the group has left the configuration
	leave     context.CancelFunc // ends ctx
	plans     Plans
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
	on        Placement // of the running assistant, or of the one that is waited for
	full      bool      // it waits for room there
	since     time.Time // of the phase, or of resting
	resting   bool      // the running session has nothing to do
	yielding  bool      // the running session is asked to end, to make room
	ending    bool      // the running session gets nothing more
	attempt   int       // how often the messages at the head of kept were tried
	failures  int       // turns in a row that broke
	told      bool      // the chat knows of these failures
	notBefore time.Time // of the next start
	lastErr   string
	cause     cause.Cause             // of lastErr, or what keeps the turn under way from its answer; empty: none
	probes    int                     // failures in a row with a permanent cause
	began     time.Time               // of the turn that is recorded; zero: none is
	broken    []*turn                 // found at start: turns of an earlier host that must not run again
	manner    *manner                 // how the running session was started
	stale     bool                    // the configuration has changed: the session is ended when it rests
	waits     bool                    // the thread was told that another thread's turn comes first
	anew      bool                    // the running session is forgotten when it ends
	unheard   bool                    // messages that are pushed into the session elsewhere are lost
	announced string                  // what the assistant elsewhere could fetch when it was last told of that
	run       context.Context         // of the running session
	halt      context.CancelCauseFunc // ends run; nil: none runs
}

// logger names the conversation in each line. A thread's id is untrusted.
func (c *conversation) logger(log *slog.Logger) *slog.Logger {
	log = log.With("group", c.group.Folder)
	if c.thread != "" {
		log = log.With("thread", media.Printable(c.thread))
	}
	return log
}

func newConversation(c *chat, thread string) *conversation {
	return &conversation{chat: c, thread: thread, phase: idle, since: time.Now(), nudge: make(chan struct{}, 1)}
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

// maxEvents is how many members' edits, deletions, reactions, votes and notes of one conversation
// wait for its next turn. They are counted apart, so a flood of events pushes out no message.
const maxEvents = 20

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

// left reports whether the group has left the configuration.
func (c *chat) left() bool { return c.ctx.Err() != nil }

// within returns ctx, ended also if the group leaves the configuration.
func (c *chat) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// configured returns the chat's group as it is configured now.
func (c *chat) configured() groups.Group {
	if g, ok := c.plans.Registry().ByFolder(c.group.Folder); ok {
		return g
	}
	return c.group // which has left a moment ago
}

// fetches reports whether the assistant lives elsewhere, and fetches its messages.
func (c *chat) fetches() bool { return c.plans.Elsewhere(c.configured()) }

// errOrdered ends a session that a member or an operator stopped.
var errOrdered = errors.New("a member stopped it")

// ordered reports whether a session's context ended because a member stopped it.
func ordered(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errOrdered) }

// stopping reports whether a member has stopped the running session. The caller holds mu.
func (c *conversation) stopping() bool { return c.run != nil && ordered(c.run) }
