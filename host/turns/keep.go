package turns

import (
	"path"
	"slices"

	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// finish ends records, in one transaction with the changes in also. Then it ends what they
// have elsewhere: the reaction of ack, the run of a task, and the files of an assistant that
// lives elsewhere.
func (m *Manager) finish(c *chat, records []*record, also ...inbound.Change) error {
	if len(records) == 0 && len(also) == 0 {
		return nil
	}
	if err := c.store.Do("end messages", append(also, c.store.Ending(messages(records)))...); err != nil {
		return err
	}
	m.dropFiles(c, records)
	for _, r := range records {
		if r.Kind == inbound.KindTask && m.o.Tasks != nil {
			m.o.Tasks.Ended(r.Key)
		}
		if r.Acked {
			m.unack(c, r)
		}
	}
	return nil
}

// clear is finish that leaves an error to the operator: a later host ends the records.
func (m *Manager) clear(c *chat, records []*record, also ...inbound.Change) {
	if err := m.finish(c, records, also...); err != nil {
		m.o.Log.Error("messages not cleared away", "group", c.group.Folder, "error", err)
	}
}

// keep makes a record durable, in one transaction with the changes in also, and wakes its
// readers.
func (m *Manager) keep(c *chat, r *record, also ...inbound.Change) error {
	m.mu.Lock()
	over := c.over
	c.over = nil
	m.mu.Unlock()
	err := m.finish(c, over, append([]inbound.Change{c.store.Adding(&r.Message)}, also...)...)
	m.mu.Lock()
	if err != nil {
		c.over = append(over, c.over...)
		m.mu.Unlock()
		return err
	}
	t := m.in(c, r.Thread)
	if t == nil {
		t = newConversation(c, r.Thread)
		m.all = append(m.all, t)
	}
	former := t.replaced(r)
	t.giveBack([]*record{r}) // in the order of their places, whoever was faster
	surplus := slices.Concat(former, t.surplus(m.o.Context), m.oldestCalls(c), m.oldestThread(c))
	surplus = slices.DeleteFunc(surplus, func(r *record) bool {
		if waits := r.Kind == inbound.KindContext && !r.Acked; waits { // for the next message's transaction
			c.over = append(c.over, r)
			return true
		}
		return false
	})
	if t.phase == running {
		wake.Up(t.nudge)
	}
	m.mu.Unlock()
	wake.Up(m.wake)
	m.clear(c, surplus) // r is kept for all that
	return nil
}

// dropFiles removes the files of messages that have ended from the inbox of an assistant
// that lives elsewhere: nobody else would. It keeps those that another message has.
func (m *Manager) dropFiles(c *chat, ended []*record) {
	if !c.fetches() {
		return
	}
	drop := map[string]bool{}
	for _, r := range ended {
		for _, f := range r.Files {
			drop[path.Base(f.Path)] = f.Path != ""
		}
	}
	if len(drop) == 0 {
		return
	}
	m.mu.Lock()
	for _, t := range m.all {
		if t.chat != c {
			continue
		}
		for _, r := range t.kept {
			for _, f := range r.Files {
				if !slices.Contains(ended, r) {
					delete(drop, path.Base(f.Path))
				}
			}
		}
	}
	m.mu.Unlock()
	if err := inbound.RemoveFiles(m.o.Layout.Workspace(c.group.Folder), drop); err != nil {
		m.o.Log.Warn("files of acknowledged messages not removed", "group", c.group.Folder, "error", err)
	}
}
