package turns

import (
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/host/inbound"
)

// Task begins a run of a scheduled task in a thread of a group's chat: a turn whose prompt
// is text. The run is kept when Task returns, and is treated like a member's message.
// If isolated is set, the turn has a session of its own: nothing else joins it, and it is
// forgotten afterwards; its answers go to the thread.
//
// run is the run's id, 32 hexadecimal digits. Task does not begin the same run twice; open
// is false if the run has ended.
func (m *Manager) Task(folder, thread, run, text string, isolated bool) (open bool, err error) {
	c, err := m.enter(folder)
	if err != nil {
		return false, fmt.Errorf("begin task: %w", err)
	}
	defer m.exit(c)
	if m.threads(c.group) == 0 {
		thread = ""
	}
	c.receiving.Lock()
	defer c.receiving.Unlock()
	if known, over, err := c.store.Seen(run); known || err != nil {
		return !over, err
	}
	return true, m.keep(c, newRecord(inbound.Message{Key: run, Kind: inbound.KindTask, Thread: thread, Text: text, Isolated: isolated, Time: time.Now()}))
}
