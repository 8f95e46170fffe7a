package turns

import (
	"time"

	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/ipc"
)

// sentSince reports whether a second run of a turn that began then could send something
// twice: a request still lies in the queue, or the outbox has something of the turn. The
// host's own messages, under the keys in remarks, do not count. What lies in the queue of another machine does
// not count either: it is held back there, see serve's holdQueue.
func (m *Manager) sentSince(c *conversation, since time.Time, remarks []string) bool {
	return m.requestsSince(c.chat, since) > 0 || m.o.Chat.SentSince(c.group.Folder, c.thread, since, remarks...)
}

// requestsSince counts a group's requests in the queue that were written since the time. It is
// called before the outbox is asked: a request leaves the queue only after the outbox has it.
func (m *Manager) requestsSince(c *chat, since time.Time) (n int) {
	for _, dir := range []string{ipc.MessagesDir, ipc.FilesDir} {
		queue, err := safefs.OpenDirAt(m.o.Layout.IPC(c.group.Folder, dir))
		if err != nil {
			continue // no request can come out of it either
		}
		for _, name := range list(queue, ipc.IsRequest) {
			if info, err := queue.Lstat(name); err == nil && info.Mode().IsRegular() && !info.ModTime().Before(since) {
				n++
			}
		}
		_ = queue.Close()
	}
	return n
}
