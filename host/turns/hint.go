package turns

import (
	"context"
	"fmt"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/inbound"
)

// hints reports whether a group's chat is told the word that calls the assistant. The chat
// page shows it instead.
func hints(g groups.Group) bool {
	return !g.Chat.OnPage() && (g.Hints == groups.HintsOn || g.Hints != groups.HintsOff && g.Chat.Direct())
}

// wantsHint reports whether a message that is to be kept is the first one, and the chat is to
// be told the word.
func (m *Manager) wantsHint(c *chat, g groups.Group, r *record) (bool, error) {
	if r.Kind != inbound.KindContext || g.Trigger == "" || !hints(g) {
		return false, nil
	}
	return c.store.Untouched()
}

// hint tells a new chat the word that calls the assistant, after a first message without
// it.
func (m *Manager) hint(ctx context.Context, c *chat, g groups.Group, r *record) {
	words := fmt.Sprintf("The assistant answers messages that contain %s.", g.Trigger)
	m.answer(ctx, newConversation(c, r.Thread), words, inbound.Key(g.Address().String(), "hint"))
}
