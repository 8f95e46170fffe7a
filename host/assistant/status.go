package assistant

import (
	"time"

	"github.com/longshore-bridge/longshore/internal/cause"
)

// Status is the state of a group's assistant, for an operator.
type Status struct {
	Folder    string    `json:"folder"`
	Thread    string    `json:"thread,omitempty"` // as its platform calls it; empty: the chat itself
	State     string    `json:"state"`            // idle, queued, running, resting (running with nothing to do), waiting (after a failure)
	Since     time.Time `json:"since"`
	Kept      int       `json:"kept"`                // messages and notices that wait to be handed over
	Failures  int       `json:"failures"`            // turns in a row that broke
	Next      time.Time `json:"next,omitzero"`       // of the next attempt, while waiting
	LastError string    `json:"lastError,omitempty"` // may hold host paths

	Cause cause.Cause `json:"cause,omitempty"` // why it cannot answer now; empty: no known reason
}

// Ignored counts the messages that did not call the assistant, since this process began to
// serve the group.
type Ignored struct {
	NotCalled  int // without the trigger word; kept as context
	NotAllowed int // of members who may not speak
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
			Kept: len(c.kept), Failures: c.failures, LastError: c.lastErr, Cause: c.cause,
		}
		switch {
		case c.resting:
			s.State = "resting"
		case c.phase == idle && c.called() && time.Now().Before(c.notBefore):
			s.State, s.Next = "waiting", c.notBefore
		}
		all = append(all, s)
	}
	return all
}
