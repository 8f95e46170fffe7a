package turns

import (
	"iter"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
)

// ThreadOf returns the thread of a group's chat to which a request belongs; empty for the
// chat itself. It is the thread of the session whose stamp the request bears, even if the
// chat has become one conversation since. Without a stamp, it is the thread of the only
// session that ran when the request was written. known is false if no session of the group
// has the stamp.
func (m *Manager) ThreadOf(folder, stamp string, written time.Time) (thread string, known bool) {
	m.mu.Lock()
	c := m.byGroup[folder]
	m.mu.Unlock()
	if c == nil {
		return "", true
	}
	flat := m.threads(c.group) == 0
	if flat && stamp == "" {
		return "", true
	}
	thread, known, err := c.store.threadOf(stamp, written)
	if err != nil {
		m.o.Log.Error("thread of a request not found", "group", folder, "error", err)
		return "", flat || stamp == ""
	}
	if flat && !known {
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
	slices.SortFunc(calls, places)
	for _, r := range calls[:max(0, len(calls)-maxCalls)] {
		out = append(out, m.in(c, r.Thread).cut(func(other *record) bool { return other == r })...)
	}
	return out
}

func calling(records []*record) iter.Seq[*record] {
	return func(yield func(*record) bool) {
		for _, r := range records {
			if r.Calls() && !yield(r) {
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

// latest returns the id of the newest record, or 0.
func (c *conversation) latest() int64 {
	if len(c.kept) == 0 {
		return 0
	}
	return c.kept[len(c.kept)-1].Seq
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

// leaveThread drops an unused conversation. Its thread stays known. The
// caller holds mu.
func (m *Manager) leaveThread(c *conversation) {
	m.all = slices.DeleteFunc(m.all, func(t *conversation) bool { return t == c })
	m.opened = slices.DeleteFunc(m.opened, func(t *conversation) bool { return t == c })
}

// turnPatience is how long another thread waits before the present turn gets no further
// messages. So a busy thread does not block the others for ever.
const turnPatience = 5 * time.Minute
