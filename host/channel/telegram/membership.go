package telegram

import (
	"slices"

	"github.com/longshore-bridge/longshore/host/channel"
)

// rights are fields of the Bot API's ChatMember and ChatPermissions; nil: Telegram does not say.
type rights struct {
	Text      *bool `json:"can_send_messages"`
	Audio     *bool `json:"can_send_audios"`
	Documents *bool `json:"can_send_documents"`
	Photos    *bool `json:"can_send_photos"`
	Videos    *bool `json:"can_send_videos"`
	Voice     *bool `json:"can_send_voice_notes"`
	Polls     *bool `json:"can_send_polls"`
	Post      *bool `json:"can_post_messages"` // of an admin of a channel
}

// missing returns the rights that Telegram says are missing.
func (r rights) missing() (names []string) {
	for _, one := range []struct {
		may  *bool
		name string
	}{{r.Text, "messages"}, {r.Documents, "files"}, {r.Photos, "photos"}, {r.Videos, "videos"}, {r.Audio, "music"}, {r.Voice, "voice messages"}, {r.Polls, "polls"}, {r.Post, "posts"}} {
		if one.may != nil && !*one.may {
			names = append(names, one.name)
		}
	}
	return names
}

// member is somebody's place in a chat.
type member struct {
	Status   string `json:"status"`
	IsMember *bool  `json:"is_member"` // of who is restricted
	rights
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
	case m.Status != "creator" && slices.ContainsFunc(m.missing(), func(r string) bool { return r == "messages" || r == "posts" }):
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
