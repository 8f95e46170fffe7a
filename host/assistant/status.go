package assistant

import (
	"time"

	"github.com/longshore-bridge/longshore/internal/cause"
)

// Status is what an operator wants to know of a group's assistant.
type Status struct {
	Folder    string    `json:"folder"`
	Thread    string    `json:"thread,omitempty"` // as its platform calls it; empty: the chat itself
	State     string    `json:"state"`            // idle, queued, running, resting (running with nothing to do), waiting (after a failure)
	Since     time.Time `json:"since"`
	Kept      int       `json:"kept"`                // messages and notices that wait to be handed over
	Failures  int       `json:"failures"`            // turns in a row that broke
	Next      time.Time `json:"next,omitzero"`       // of the next attempt, while waiting
	LastError string    `json:"lastError,omitempty"` // may hold host paths

	Cause cause.Cause `json:"cause,omitempty"` // why it does not answer now; empty: nothing is known to keep it from that
}

// Ignored counts the messages of a group's members since this process began to serve
// the group that did not call its assistant.
type Ignored struct {
	NotCalled  int // without the trigger word; kept as context
	NotAllowed int // of members who may not speak
}

// Ignored returns what was not for the assistant of the group with that folder.
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

// Status tells the state of each group that has an assistant, in the order of
// the configuration, and of the threads in which something waits or runs.
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
