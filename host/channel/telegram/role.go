package telegram

import (
	"context"
	"fmt"
	"slices"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// RoleOf implements channel.Roles.
func (t *Telegram) RoleOf(ctx context.Context, chat groups.JID, sender string) (channel.Role, error) {
	id, who := t.moved.now(idOf(chat)), senderOf(sender)
	switch {
	case id > 0, id == who: // an anonymous admin acts on behalf of the group
		return channel.RoleAdmin, nil
	case who < 0: // another chat
		return channel.RoleUnknown, nil
	}
	m, err := t.memberOf(ctx, id, who)
	if err != nil {
		return channel.RoleUnknown, fmt.Errorf("ask for a member's role: %w", err)
	}
	switch {
	case m.Status == "creator" || m.Status == "administrator":
		return channel.RoleAdmin, nil
	case m.here():
		return channel.RoleMember, nil
	}
	return channel.RoleUnknown, nil
}

// memberOf asks for a person's status in a group. It is zero if Telegram refuses to say. An error is
// temporary.
func (t *Telegram) memberOf(ctx context.Context, chat, user int64) (m member, err error) {
	err = t.api.Ask(ctx, "POST", "getChatMember", map[string]any{"chat_id": chat, "user_id": user}, &m)
	if class := channel.ClassOf(err); class == channel.Permanent || class == channel.Held {
		return member{}, nil
	}
	return m, err
}

// here reports whether the person is in the group.
func (m member) here() bool {
	return slices.Contains([]string{"creator", "administrator", "member"}, m.Status) || m.Status == "restricted" && (m.IsMember == nil || *m.IsMember)
}
