package slack

import (
	"context"
	"strings"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
)

// mentioned returns the host's word of a text that is a mention of the bot and that word.
func (s *Slack) mentioned(text string) string {
	mention, after, ok := strings.Cut(strings.TrimSpace(text), ">")
	id, _, _ := strings.Cut(mention, "|")
	if me := s.self.Load(); me == nil || !ok || id != "<@"+me.UserID {
		return ""
	}
	return bot.CommandAfter(after)
}

// RoleOf implements channel.Roles. Admins are the admins of the workspace. Without the scope
// users:read, all roles are unknown.
func (s *Slack) RoleOf(ctx context.Context, chat groups.JID, sender string) (channel.Role, error) {
	if role := s.roleIn(ctx, chat, sender); role != channel.RoleUnknown {
		return role, nil
	}
	u, err := s.user(ctx, sender)
	if err != nil {
		if class := channel.ClassOf(err); class == channel.Permanent || class == channel.Held {
			return channel.RoleUnknown, nil
		}
		return channel.RoleUnknown, err
	}
	return s.roleOf(u), nil
}

// roleIn returns a member's role as far as it is known. In a direct message the member is an admin.
func (s *Slack) roleIn(ctx context.Context, chat groups.JID, sender string) channel.Role {
	if private(chat) {
		return channel.RoleAdmin
	}
	return s.member(ctx, sender).role
}

// roleOf returns the role that Slack gives a member. An admin of another workspace that shares the
// channel is none here.
func (s *Slack) roleOf(u user) channel.Role {
	if me := s.self.Load(); (u.Admin || u.Owner || u.Primary) && me != nil && u.Team == me.TeamID {
		return channel.RoleAdmin
	}
	return channel.RoleMember
}
