package telegram

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// rights are the fields can_… of the Bot API's ChatMember and ChatPermissions.
type rights map[string]jsontext.Value

// missing returns the rights that Telegram says are missing. The last is of an admin of a channel.
func (r rights) missing() (names []string) {
	for _, one := range [][2]string{
		{"send_messages", "messages"}, {"send_documents", "files"}, {"send_photos", "photos"}, {"send_videos", "videos"},
		{"send_audios", "music"}, {"send_voice_notes", "voice messages"}, {"send_polls", "polls"}, {"post_messages", "posts"},
	} {
		if string(r["can_"+one[0]]) == "false" {
			names = append(names, one[1])
		}
	}
	return names
}

// member is somebody's place in a chat.
type member struct {
	Status   string `json:"status"`
	IsMember *bool  `json:"is_member"` // of who is restricted
	Rights   rights `json:",embed"`
}

// barred returns why the bot can send nothing to a chat; nil if it can.
func (m member) barred(private bool) error {
	switch {
	case m.Status == "kicked" && private:
		return meant("bot was blocked by the user")
	case m.Status == "kicked":
		return meant("bot was kicked from the group chat")
	case m.Status == "left", m.Status == "restricted" && m.IsMember != nil && !*m.IsMember:
		return meant("bot is not a member of the chat")
	case m.Status != "creator" && slices.ContainsFunc(m.Rights.missing(), func(r string) bool { return r == "messages" || r == "posts" }):
		return meant("have no rights to send a message")
	}
	return nil
}

// noteMembership records what the bot may do in a chat from now on.
func (t *Telegram) noteMembership(c chat, now member) {
	jid := t.chatOf(c.ID)
	barred := now.barred(c.Type == "private")
	switch counts := t.Serves(jid); {
	case !counts && barred == nil:
		t.Log.Info("the bot is in a chat that no group has", "chat", jid, "name", channel.CleanName(c.Title))
	case counts && barred == nil:
		t.Barred.Free(jid)
	case counts:
		t.Log.Warn("the bot cannot write to a chat any more", "chat", jid, "error", barred, "remedy", channel.HintOf(barred))
		t.Barred.Bar(jid, barred)
	}
}

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
	switch {
	case err != nil:
		return channel.RoleUnknown, fmt.Errorf("ask for a member's role: %w", err)
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
