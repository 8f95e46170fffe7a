package turns

import (
	"time"

	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/ipc"
)

// sentSince reports whether a second run of a turn that began then could send something
// twice: the outbox has something of the turn, or a request still lies in the queue. The
// host's own messages, under the keys in remarks, do not count.
func (m *Manager) sentSince(c *conversation, since time.Time, remarks []string) bool {
	if m.o.Chat.SentSince(c.group.Folder, c.thread, since, remarks...) {
		return true
	}
	return m.requestsSince(c.chat, since) > 0
}

// requestsSince counts a group's requests in the queue that were written since the time.
func (m *Manager) requestsSince(c *chat, since time.Time) (n int) {
	queue, err := safefs.OpenDirAt(m.o.Layout.IPC(c.group.Folder, ipc.MessagesDir))
	if err != nil {
		return 0 // no request can come out of it either
	}
	defer queue.Close()
	for _, name := range list(queue) {
		if info, err := queue.Lstat(name); err == nil && !info.ModTime().Before(since) {
			n++
		}
	}
	return n
}
