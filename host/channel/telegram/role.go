package telegram

import (
	"context"
	"fmt"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// RoleOf implements channel.Roles.
func (t *Telegram) RoleOf(ctx context.Context, chat groups.JID, sender string) (channel.Role, error) {
	id := t.moved.now(idOf(chat))
	if id > 0 {
		return channel.RoleAdmin, nil
	}
	var member struct {
		Status string `json:"status"`
	}
	err := t.brief(ctx, "getChatMember", map[string]any{"chat_id": id, "user_id": numberOf(sender)}, &member)
	if class := channel.ClassOf(err); class == channel.Permanent || class == channel.Held {
		return channel.RoleUnknown, nil
	} else if err != nil {
		return channel.RoleUnknown, fmt.Errorf("ask for a member's role: %w", err)
	}
	switch member.Status {
	case "creator", "administrator":
		return channel.RoleAdmin, nil
	case "member", "restricted":
		return channel.RoleMember, nil
	}
	return channel.RoleUnknown, nil
}
