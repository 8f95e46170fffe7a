package turns

import (
	"context"
	"slices"

	"github.com/longshore-bridge/longshore/host/inbound"
)

// ack reacts to the last message that calls the assistant, if the group's `ack` asks for
// it. The reaction is removed when the record is finished, if need be by the next host.
func (m *Manager) ack(ctx context.Context, c *conversation, records []*record) {
	emoji := c.configured().Ack
	if emoji == "" {
		return
	}
	for _, r := range slices.Backward(records) {
		if r.Kind != inbound.KindCall || r.ID == "" {
			continue
		}
		if r.Acked { // the turn is being retried
			return
		}
		r.Acked = true
		err := c.store.Do("keep message", c.store.Updating(&r.Message)) // before the reaction: a host that dies in between takes back what is not there
		if err == nil {
			err = m.o.Chat.React(ctx, c.group.Folder, r.Thread, r.ID, emoji, inbound.Key(r.Key, "ack"))
		}
		if err != nil {
			m.o.Log.Warn("message not reacted to", "group", c.group.Folder, "error", err)
		}
		return
	}
}

// unack removes the reaction to a record.
func (m *Manager) unack(c *chat, r *record) {
	if err := m.o.Chat.React(context.Background(), c.group.Folder, r.Thread, r.ID, "", inbound.Key(r.Key, "unack")); err != nil {
		m.o.Log.Warn("reaction not taken back", "group", c.group.Folder, "error", err)
	}
}
