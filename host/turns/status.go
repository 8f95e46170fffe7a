package turns

import (
	"maps"
	"time"

	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/internal/cause"
)

// Status is the state of a group's assistant, for an operator.
type Status struct {
	Folder    string    `json:"folder"`
	Thread    string    `json:"thread,omitempty"` // as its platform calls it; empty: the chat itself
	State     string    `json:"state"`            // idle, queued, running, resting (running with nothing to do), waiting (after a failure), elsewhere (it fetches its messages)
	Since     time.Time `json:"since"`
	Kept      int       `json:"kept"`                // messages and notices that wait to be handed over
	Failures  int       `json:"failures"`            // turns in a row that broke
	Next      time.Time `json:"next,omitzero"`       // of the next attempt, while waiting
	LastError string    `json:"lastError,omitempty"` // may hold host paths

	Engine string `json:"engine,omitempty"` // on which the assistant runs, or last ran or tried to since the host's start

	Cause cause.Cause `json:"cause,omitempty"` // why it cannot answer now; empty: no known reason

	Fetched time.Time `json:"fetched,omitzero"` // when the assistant elsewhere last asked for messages, since the host's start
}

// Ignored counts the messages that began no turn, since this process began to serve the
// group.
type Ignored struct {
	NotCalled  int `json:"not_called"`  // without the trigger word; kept as context
	NotAllowed int `json:"not_allowed"` // of members who may not speak
}

// Ignored returns the counts of the group with that folder.
func (m *Manager) Ignored(folder string) Ignored {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.byGroup[folder]; c != nil {
		return c.ignored
	}
	return Ignored{}
}

// Turns says when a group's turns last ended, how many did, and what they used: in all threads,
// since this process began to serve the group. What has not happened yet is zero.
type Turns struct {
	Done    time.Time `json:"turn_done,omitzero"`  // with an answer
	Broke   time.Time `json:"turn_broke,omitzero"` // without one
	Trouble string    `json:"trouble,omitempty"`   // why: one of package cause's, or words that may hold host paths

	Answered int64 `json:"turns_answered"`
	Broken   int64 `json:"turns_broken"` // attempts of turns that broke

	// What the model's service charges for, by the assistant's word.
	InputTokens  int64   `json:"input_tokens,omitempty"`
	CachedTokens int64   `json:"cached_tokens,omitempty"` // part of InputTokens
	OutputTokens int64   `json:"output_tokens,omitempty"`
	CostUSD      float64 `json:"cost_usd,omitempty"`
}

// The most that one output may claim to have used. What exceeds it is no figure of a model.
const (
	maxTokens = 1 << 30
	maxCost   = 10_000 // US dollars
)

// count adds what an assistant says that it has used.
func (t *Turns) count(u *runtime.Usage) {
	if u == nil {
		return
	}
	for _, n := range []int64{u.Input, u.Cached, u.Output} {
		if n < 0 || n > maxTokens {
			return
		}
	}
	t.InputTokens, t.CachedTokens, t.OutputTokens = t.InputTokens+u.Input, t.CachedTokens+u.Cached, t.OutputTokens+u.Output
	if u.Cost > 0 && u.Cost <= maxCost {
		t.CostUSD += u.Cost
	}
}

// Troubles counts, since New, how often each cause began to keep a turn from its answer, or
// broke it.
func (m *Manager) Troubles() map[cause.Cause]int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.troubles)
}

// Turns returns those of the group with that folder.
func (m *Manager) Turns(folder string) Turns {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.byGroup[folder]; c != nil {
		return c.turns
	}
	return Turns{}
}

// ignore counts a message that does not call the assistant.
func (m *Manager) ignore(c *chat, one Ignored) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.ignored.NotCalled += one.NotCalled
	c.ignored.NotAllowed += one.NotAllowed
}

// Status returns the state of each group with an assistant, in the order of the
// configuration, and of the threads in which something waits or runs.
func (m *Manager) Status() []Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []Status
	for _, c := range m.all {
		s := Status{
			Folder: c.group.Folder, Thread: c.thread, State: string(c.phase), Since: c.since,
			Kept: len(c.kept), Failures: c.failures, LastError: c.lastErr, Cause: c.cause, Engine: c.on.Engine,
		}
		switch {
		case c.phase == idle && c.fetches():
			s.State, s.Fetched = "elsewhere", c.fetched
		case c.resting:
			s.State = "resting"
		case c.phase == idle && c.called() && time.Now().Before(c.notBefore):
			s.State, s.Next = "waiting", c.notBefore
		}
		all = append(all, s)
	}
	return all
}

// InboxUse returns the bytes of the files in a group's inbox, as they were a minute ago at
// most. They are 0 for a group that is not served, and for an inbox that cannot be read.
func (m *Manager) InboxUse(folder string) int64 {
	m.mu.Lock()
	c := m.byGroup[folder]
	m.mu.Unlock()
	if c == nil {
		return 0
	}
	return c.inbox.Use()
}
