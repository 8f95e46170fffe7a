package assistant

import (
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
)

// turnPatience is how long another thread waits before the present turn gets no further
// messages. So a busy thread does not block the others for ever.
const turnPatience = 5 * time.Minute

// threadsFile holds a group's register. It has no suffix, so that earlier versions do not
// take it for a message.
const threadsFile = "threads"

const (
	maxThreads  = 1000 // threads in a register, including forgotten ones
	maxSessions = 200  // past sessions that it holds
)

// register is the memory of a chat's threads and recent sessions.
type register struct {
	Threads  []knownThread `json:"threads,omitempty"`  // the one used last at the end
	Sessions []pastSession `json:"sessions,omitempty"` // the newest at the end
}

// knownThread is a thread in which the assistant has been called.
type knownThread struct {
	ID        string `json:"id"` // the platform's
	Session   string `json:"session,omitempty"`
	Forgotten bool   `json:"forgotten,omitempty"` // its session was dropped to make room
}

// pastSession maps a session to its thread.
type pastSession struct {
	Stamp  string    `json:"turn"` // in the session's requests: the id of its first turn
	Thread string    `json:"thread,omitempty"`
	Began  time.Time `json:"began"`
	Ended  time.Time `json:"ended,omitzero"`
}

// loadRegister reads the register. A session without an end ended with the host that wrote
// it. A register that cannot be read is kept beside the new one.
func (s *store) loadRegister() {
	if s.load(threadsFile, &s.register) != nil {
		os.Rename(s.path(threadsFile), s.path(threadsFile+".broken")) // nothing, if there is none
		s.register = register{}
	}
	for i := range s.register.Sessions {
		if p := &s.register.Sessions[i]; p.Ended.IsZero() {
			p.Ended = time.Now()
		}
	}
}

func (r *register) thread(id string) *knownThread {
	i := slices.IndexFunc(r.Threads, func(t knownThread) bool { return t.ID == id })
	if i < 0 {
		return nil
	}
	return &r.Threads[i]
}

// begin records a session that starts now, and forgets the least recently used threads
// beyond keep. forgotten reports whether this thread had been forgotten.
func (s *store) begin(stamp, thread string, keep int) (forgotten bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.register
	if thread != "" {
		now := knownThread{ID: thread}
		if t := r.thread(thread); t != nil {
			forgotten, now.Session = t.Forgotten, t.Session
		}
		r.Threads = append(slices.DeleteFunc(r.Threads, func(t knownThread) bool { return t.ID == thread }), now)
		for i := range r.Threads[:max(0, len(r.Threads)-keep)] {
			r.Threads[i] = knownThread{ID: r.Threads[i].ID, Forgotten: true}
		}
		r.Threads = last(r.Threads, maxThreads)
	}
	r.Sessions = last(append(r.Sessions, pastSession{Stamp: stamp, Thread: thread, Began: time.Now()}), maxSessions)
	return forgotten, s.save(threadsFile, r)
}

// last returns the last n entries of a list.
func last[T any](list []T, n int) []T { return slices.Clone(list[max(0, len(list)-n):]) }

// ended records that a session has ended. If the host dies before, the next host finds
// out.
func (s *store) ended(stamp string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.register.Sessions {
		if p := &s.register.Sessions[i]; p.Stamp == stamp {
			p.Ended = time.Now()
		}
	}
}

// threadOf returns the thread of the session that stamped a request, or else of the only
// session that ran when the request was written. known is false if no session of the group
// has the stamp.
func (s *store) threadOf(stamp string, written time.Time) (thread string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ran []pastSession
	for _, p := range s.register.Sessions {
		if p.Stamp == stamp {
			return p.Thread, true
		}
		if !written.Before(p.Began) && (p.Ended.IsZero() || !written.After(p.Ended)) {
			ran = append(ran, p)
		}
	}
	if len(ran) == 1 {
		thread = ran[0].Thread
	}
	return thread, stamp == ""
}

// Thread returns the thread of a group's chat to which a request belongs; empty for the
// chat itself. It is the thread of the session whose stamp the request bears, even if the
// chat has become one conversation since, or else of the only session that ran when the
// request was written. known is false if no session of the group has the stamp.
func (m *Manager) Thread(folder, stamp string, written time.Time) (thread string, known bool) {
	m.mu.Lock()
	c := m.byGroup[folder]
	m.mu.Unlock()
	if c == nil {
		return "", true
	}
	thread, known = c.store.threadOf(stamp, written)
	if m.threads(c.group) == 0 && (stamp == "" || !known) {
		return "", true
	}
	return thread, known
}

// threads is how many threads of a group's chat are remembered; 0 if the chat is one
// conversation.
func (m *Manager) threads(g groups.Group) int {
	if now, ok := m.o.Plans.Registry().ByFolder(g.Folder); ok {
		g = now
	}
	if g.Threads == groups.Flat || !m.o.Platforms.HasThreads(g.Channel) {
		return 0
	}
	return m.o.Plans.Limits().Threads
}

// in returns the conversation in a thread of a chat, or nil. The caller holds mu.
func (m *Manager) in(c *chat, thread string) *conversation {
	i := slices.IndexFunc(m.all, func(t *conversation) bool { return t.chat == c && t.thread == thread })
	if i < 0 {
		return nil
	}
	return m.all[i]
}

// oldestCalls removes the oldest calls of a chat beyond maxCalls, so that members who
// write without end fill neither disk nor memory. The caller holds mu.
func (m *Manager) oldestCalls(c *chat) (out []*record) {
	var calls []*record
	for _, t := range m.all {
		if t.chat == c {
			calls = slices.AppendSeq(calls, calling(t.kept)) // events too, which are few in each thread
		}
	}
	slices.SortFunc(calls, func(a, b *record) int { return strings.Compare(a.name, b.name) })
	for _, r := range calls[:max(0, len(calls)-maxCalls)] {
		out = append(out, m.in(c, r.Thread).cut(func(other *record) bool { return other == r })...)
	}
	return out
}

func calling(records []*record) iter.Seq[*record] {
	return func(yield func(*record) bool) {
		for _, r := range records {
			if r.calls() && !yield(r) {
				return
			}
		}
	}
}

// oldestThread drops the least recently used thread if there are too many and the thread
// has no waiting call. It returns the thread's records. The caller holds mu.
func (m *Manager) oldestThread(c *chat) []*record {
	var oldest *conversation
	count := 0
	for _, t := range m.all {
		if t.chat != c || t.thread == "" {
			continue
		}
		count++
		if t.phase == idle && !t.called() && (oldest == nil || t.latest() < oldest.latest()) {
			oldest = t
		}
	}
	if count <= max(1, m.threads(c.group)) || oldest == nil {
		return nil
	}
	m.leaveThread(oldest)
	return oldest.kept
}

// latest returns the name of the newest record, or empty.
func (c *conversation) latest() string {
	if len(c.kept) == 0 {
		return ""
	}
	return c.kept[len(c.kept)-1].name
}

// outstayed reports whether another thread has waited so long for a conversation's turn
// that the conversation gets nothing more. The caller holds mu.
func (m *Manager) outstayed(c *conversation) bool {
	return slices.ContainsFunc(m.queue, func(q *conversation) bool {
		return q.chat == c.chat && time.Since(q.since) > turnPatience
	})
}

// dismiss ends a conversation's turn that is over or no longer needed. The caller holds
// mu.
func (m *Manager) dismiss(c *conversation) {
	c.phase, c.since = idle, time.Now()
	if c.thread != "" && len(c.kept) == 0 && c.failures == 0 {
		m.leaveThread(c)
	}
}

// leaveThread drops an unused conversation. The register's entry of its thread stays. The
// caller holds mu.
func (m *Manager) leaveThread(c *conversation) {
	m.all = slices.DeleteFunc(m.all, func(t *conversation) bool { return t == c })
	m.opened = slices.DeleteFunc(m.opened, func(t *conversation) bool { return t == c })
}
