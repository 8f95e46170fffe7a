package assistant

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/ipc"
)

// phase is where a group is on its way to a running assistant.
type phase string

const (
	idle    phase = "idle"
	queued  phase = "queued"
	running phase = "running"
)

// conversation is one group's messages and the state of its assistant.
type conversation struct {
	group  groups.Group // as it was opened: folder and chat stay as long as it does
	store  *store
	inputs *inputs
	ctx    context.Context // done when the group has left the configuration
	leave  func()          // ends ctx
	nudge  chan struct{}   // to the running session, of capacity one: look at kept and yielding

	receiving sync.Mutex // one message at a time, so that they stay in order; only Receive takes it
	storing   sync.Mutex // one file at a time into the inbox, whose size is bounded
	updating  sync.Mutex // one file at a time that changes a record

	// The session's own: since when a run of the turn that is tried again may
	// have gone on, unheard.
	lost time.Time

	// Guarded by Manager.mu.
	kept      []*record // not handed to an assistant, in order
	phase     phase
	since     time.Time // of the phase, or of resting
	resting   bool      // the running session has nothing to do
	yielding  bool      // the running session is asked to end, to make room
	attempt   int       // how often the messages at the head of kept were tried
	failures  int       // turns in a row that broke
	told      bool      // the chat knows of this row
	notBefore time.Time // of the next start
	lastErr   string
	broken    *turn   // found at start: a turn of an earlier host that must not run again
	users     int     // who works with it at this moment, beside its session and lanes
	manner    *manner // how the running session was started
	stale     bool    // it would be started in another manner now: when it rests, it is ended

	quick, patient lane // files to fetch
}

// open reads what is on disk of a group and sorts out the turn that a host
// which died has left.
func (m *Manager) open(g groups.Group) (*conversation, error) {
	c := &conversation{
		group: g, phase: idle, since: time.Now(), nudge: make(chan struct{}, 1),
		inputs: &inputs{dir: m.o.Layout.IPC(g.Folder, ipc.InputDir)},
	}
	c.ctx, c.leave = context.WithCancel(context.Background())
	var err error
	var held *turn
	c.store, c.kept, held, err = openStore(m.o.Layout.Channel("inbound"), g.Folder)
	if err != nil {
		return nil, err
	}
	if err := m.leaveElsewhere(c, held); err != nil {
		return nil, err
	}
	c.patient.patient = true
	wants, err := c.store.wants()
	c.patient.wants = slices.DeleteFunc(wants, func(w *want) bool { return elsewhere(w.Chat, g) })
	if err != nil || held == nil {
		return c, err
	}
	// What the assistant had not read goes to the next one like any other
	// message. Its process has died with its host.
	held.unread(c.inputs.drain())
	if held.empty() {
		return c, c.store.saveTurn(nil)
	}
	if m.sentSince(c, held.Started) || held.Attempt+1 >= m.o.Attempts {
		c.kept = slices.DeleteFunc(c.kept, held.holds)
		c.broken = held
		return c, nil
	}
	c.attempt = held.Attempt + 1
	return c, c.store.saveTurn(nil)
}

// leaveElsewhere leaves what was written in a former chat of the group on disk:
// nobody in its chat is to read it. A turn that had sent something there is over.
func (m *Manager) leaveElsewhere(c *conversation, held *turn) error {
	c.kept = slices.DeleteFunc(c.kept, func(r *record) bool { return elsewhere(r.Chat, c.group) })
	if held == nil {
		return nil
	}
	var over []*record
	for _, r := range held.records {
		if elsewhere(r.Chat, c.group) {
			over = append(over, r)
		}
	}
	if len(over) == 0 {
		return nil
	}
	m.o.Log.Warn("a turn ended with the group's former chat", "group", c.group.Folder, "messages", len(over))
	for _, r := range over {
		held.take(r.name)
	}
	return c.store.finish(over)
}

// called says whether a message waits that calls the assistant.
func (c *conversation) called() bool { return slices.ContainsFunc(c.free(), (*record).calls) }

// firstCall is when the oldest of those was written down.
func (c *conversation) firstCall() time.Time {
	for _, r := range c.free() {
		if r.calls() {
			return r.Kept
		}
	}
	return time.Now()
}

// giveBack puts records back in their place.
func (c *conversation) giveBack(records []*record) {
	c.kept = append(c.kept, records...)
	slices.SortFunc(c.kept, func(a, b *record) int { return strings.Compare(a.name, b.name) })
}

// maxCalls is how many messages wait that call the assistant. It is more than
// one prompt has room for, so that none is lost which the assistant would see.
const maxCalls = 1000

// surplus takes the oldest out of kept: of what does not call the assistant,
// beyond limit messages and as many notices, and of what does beyond maxCalls,
// so that a member who writes without end fills neither disk nor memory.
func (c *conversation) surplus(limit int) (out []*record) {
	count := map[kind]int{}
	for _, r := range c.kept {
		count[r.Kind]++
	}
	c.kept = slices.DeleteFunc(c.kept, func(r *record) bool {
		most := limit
		if r.calls() {
			most = maxCalls
		}
		if count[r.Kind] <= most {
			return false
		}
		count[r.Kind]--
		out = append(out, r)
		return true
	})
	return out
}

// urgent says whether something waits that a running assistant should get.
func (c *conversation) urgent() bool {
	return slices.ContainsFunc(c.free(), func(r *record) bool { return r.Kind != contextKind && !r.Quiet })
}

// succeeded takes note of a turn that ended well.
func (c *conversation) succeeded() {
	c.failures, c.attempt, c.told, c.lastErr, c.notBefore = 0, 0, false, "", time.Time{}
}
