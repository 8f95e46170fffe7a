package turns

import (
	"iter"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/host/state"
)

const (
	maxThreads = 1000 // threads of a chat that are known, including forgotten ones
	maxRuns    = 200  // past runs that are known, by which a request finds its thread
)

// session is the agent's session id in a thread, or empty.
func (s *store) session(thread string) (id string, err error) {
	_, err = s.Found([]any{&id}, `SELECT session FROM turn_thread WHERE folder = ? AND thread = ?`, s.Folder, thread)
	return id, err
}

// savingSession keeps the agent's session id of a thread, unless the thread was forgotten
// meanwhile.
func (s *store) savingSession(thread, id string) inbound.Change {
	if thread == "" {
		return inbound.Exec(`INSERT INTO turn_thread (folder, thread, session, forgotten, used) VALUES (?, '', ?, 0, 0)
			ON CONFLICT (folder, thread) DO UPDATE SET session = excluded.session`, s.Folder, id)
	}
	return inbound.Exec(`UPDATE turn_thread SET session = ?, forgotten = 0 WHERE folder = ? AND thread = ?`, id, s.Folder, thread)
}

// forgettingSession makes a thread's next turn begin a new conversation.
func (s *store) forgettingSession(thread string) inbound.Change {
	return inbound.Exec(`UPDATE turn_thread SET session = '' WHERE folder = ? AND thread = ?`, s.Folder, thread)
}

// forgettingSessions does the same for the chat and all of its threads.
func (s *store) forgettingSessions() inbound.Change {
	return inbound.Exec(`UPDATE turn_thread SET session = '', forgotten = 0 WHERE folder = ?`, s.Folder)
}

// wasForgotten reports whether a thread's session was dropped to make room.
func (s *store) wasForgotten(thread string) (forgotten bool, err error) {
	_, err = s.Found([]any{&forgotten}, `SELECT forgotten = 1 FROM turn_thread WHERE folder = ? AND thread = ?`, s.Folder, thread)
	return forgotten, err
}

// beginning records a run that starts now, and forgets the least recently used threads
// beyond keep.
func (s *store) beginning(stamp, thread string, keep int) inbound.Change {
	began := time.Now().UnixNano()
	return func(t *state.Tx) error {
		_, err := t.Exec(`INSERT INTO turn_run (folder, stamp, thread, seq, began)
			VALUES (?, ?, ?, (SELECT COALESCE(MAX(seq), 0) + 1 FROM turn_run WHERE folder = ?), ?) ON CONFLICT (folder, stamp) DO NOTHING`,
			s.Folder, stamp, thread, s.Folder, began)
		if err == nil {
			_, err = t.Exec(`DELETE FROM turn_run WHERE folder = ? AND seq <= (SELECT MAX(seq) FROM turn_run WHERE folder = ?) - ?`, s.Folder, s.Folder, maxRuns)
		}
		if err != nil || thread == "" {
			return err
		}
		_, err = t.Exec(`INSERT INTO turn_thread (folder, thread, session, forgotten, used)
			VALUES (?, ?, '', 0, (SELECT COALESCE(MAX(used), 0) + 1 FROM turn_thread WHERE folder = ?))
			ON CONFLICT (folder, thread) DO UPDATE SET forgotten = 0, used = excluded.used`, s.Folder, thread, s.Folder)
		if err == nil {
			_, err = t.Exec(`UPDATE turn_thread SET session = '', forgotten = 1 WHERE folder = ? AND thread <> '' AND forgotten = 0
				AND used <= (SELECT used FROM turn_thread WHERE folder = ? AND thread <> '' ORDER BY used DESC LIMIT 1 OFFSET ?)`, s.Folder, s.Folder, keep)
		}
		if err == nil {
			_, err = t.Exec(`DELETE FROM turn_thread WHERE folder = ? AND thread <> ''
				AND used <= (SELECT used FROM turn_thread WHERE folder = ? AND thread <> '' ORDER BY used DESC LIMIT 1 OFFSET ?)`, s.Folder, s.Folder, maxThreads)
		}
		return err
	}
}

// ended records that a run has ended. If the host dies before, the next host finds out.
func (s *store) ended(stamp string) inbound.Change {
	return inbound.Exec(`UPDATE turn_run SET ended = ? WHERE folder = ? AND stamp = ?`, time.Now().UnixNano(), s.Folder, stamp)
}

// threadOf returns the thread of the run that stamped a request, or else of the only run
// that was under way when the request was written. known is false if no run of the group has
// the stamp.
func (s *store) threadOf(stamp string, written time.Time) (thread string, known bool, err error) {
	if stamp != "" {
		known, err = s.Found([]any{&thread}, `SELECT thread FROM turn_run WHERE folder = ? AND stamp = ?`, s.Folder, stamp)
		if known || err != nil {
			return thread, known, err
		}
	}
	var ran []string
	err = inbound.Each(s.DB, func(scan func(...any) error) error {
		ran = append(ran, "")
		return scan(&ran[len(ran)-1])
	}, `SELECT thread FROM turn_run WHERE folder = ? AND began <= ? AND (ended = 0 OR ended >= ?) LIMIT 2`, s.Folder, written.UnixNano(), written.UnixNano())
	if len(ran) == 1 {
		thread = ran[0]
	}
	return thread, stamp == "", err
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
