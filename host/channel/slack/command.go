package slack

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	slackgo "github.com/slack-go/slack"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// The app's command. Slack has a /status of its own, and delivers no command from a thread.
const (
	commandName     = "/longshore"
	commandEnvelope = "slash_commands"    // of Socket Mode
	commandType     = "longshore_command" // of the body that is kept; no event of Slack's
	maxCommand      = 40                  // characters of a command that count
)

// unwrapCommand is unwrap for a command. Its id is that of Slack's trigger_id, which is the same
// if Slack sends the command again.
func unwrapCommand(payload []byte) (id string, body []byte, err error) {
	if len(payload) > maxEvent {
		return "", nil, fmt.Errorf("the command has %d bytes, at most %d are taken", len(payload), maxEvent)
	}
	var p struct {
		Channel string `json:"channel_id"`
		User    string `json:"user_id"`
		Command string `json:"command"`
		Text    string `json:"text"`
		Trigger string `json:"trigger_id"`
	}
	if err := json.Unmarshal(payload, &p, lenient); err != nil {
		return "", nil, err
	}
	if p.Command != commandName || p.Trigger == "" || len(p.Trigger) > 200 {
		return "", nil, errors.New("it is another command, or has no trigger_id")
	}
	sum := sha256.Sum256([]byte(p.Trigger))
	body, err = json.Marshal(map[string]string{
		"type": commandType, "channel": p.Channel, "user": p.User, "text": media.Cut(strings.TrimSpace(p.Text), maxCommand),
	})
	return "cmd-" + hex.EncodeToString(sum[:12]), body, err
}

// commanded returns the event of a command.
func commanded(m *message) *event {
	return &event{Inbound: channel.Inbound{Sender: m.User, Command: cmp.Or(m.Text, "help")}}
}

// wordsOn returns the answer to a command in a chat without an assistant; else nothing.
func (s *Slack) wordsOn(e envelope) string {
	if e.Type != commandEnvelope {
		return ""
	}
	_, body, err := unwrapCommand(e.Payload)
	if err != nil {
		return ""
	}
	if ev, err := decode(body); err != nil || ev == nil || !s.Serves(ev.Chat) {
		return "No assistant is in this chat."
	}
	return ""
}

// mentioned returns the host's word of a text that is a mention of the bot and that word.
func (s *Slack) mentioned(text string) string {
	me := s.self.Load()
	if me == nil {
		return ""
	}
	mention, word, ok := strings.Cut(strings.TrimSpace(text), ">")
	id, _, _ := strings.Cut(mention, "|")
	if !ok || id != "<@"+me.user {
		return ""
	}
	switch word = strings.TrimSpace(strings.TrimLeft(word, ":, ")); strings.Map(asciiLower, word) {
	case "stop", "new", "status", "help":
		return word
	}
	return ""
}

func asciiLower(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

// RoleOf implements channel.Roles. Admins are the admins of the workspace. Without the scope
// users:read, all roles are unknown.
func (s *Slack) RoleOf(ctx context.Context, chat groups.JID, sender string) (channel.Role, error) {
	if role := s.roleIn(ctx, chat, sender); role != channel.RoleUnknown {
		return role, nil
	}
	u, err := s.api.slackgo.GetUserInfoContext(ctx, sender)
	if err = apiError(err); err != nil {
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
func (s *Slack) roleOf(u *slackgo.User) channel.Role {
	me := s.self.Load()
	if (u.IsAdmin || u.IsOwner || u.IsPrimaryOwner) && me != nil && u.TeamID == me.team {
		return channel.RoleAdmin
	}
	return channel.RoleMember
}
