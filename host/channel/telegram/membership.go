package telegram

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/longshore-bridge/longshore/groups"
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
	word := func(said string) error { return refused(&word{code: 403, text: said}, 0) }
	switch {
	case m.Status == "kicked" && private:
		return word("bot was blocked by the user")
	case m.Status == "kicked":
		return word("bot was kicked from the group chat")
	case m.Status == "left", m.Status == "restricted" && m.IsMember != nil && !*m.IsMember:
		return word("bot is not a member of the chat")
	case m.Status != "creator" && slices.ContainsFunc(m.missing(), func(r string) bool { return r == "messages" || r == "posts" }):
		return word("have no rights to send a message")
	}
	return nil
}

// membership remembers why the bot can send nothing to some chats, as Telegram reported. The zero
// membership is ready.
type membership struct {
	mu sync.Mutex
	by map[groups.JID]error
}

// of returns why the bot can send nothing to a chat; nil if it can, as far as is known.
func (s *membership) of(chat groups.JID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[chat]
}

func (s *membership) note(chat groups.JID, barred error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.by, chat); barred == nil {
		return
	}
	if s.by == nil {
		s.by = map[groups.JID]error{}
	}
	s.by[chat] = barred
}

// forget is called at a new connection: earlier reports may be out of date.
func (s *membership) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.by = nil
}

// trouble returns what somebody should fix; empty: nothing.
func (s *membership) trouble() (words string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for chat, err := range s.by {
		words = max(words, fmt.Sprintf("%s: %s: %s", chat, said(err), channel.HintOf(err)))
	}
	return words
}

// said returns the words of an error without its cause.
func said(err error) string {
	first, _, _ := strings.Cut(err.Error(), ": Telegram says")
	return first
}

// noteMembership records what the bot may do in a chat from now on.
func (t *Telegram) noteMembership(c chat, now member) {
	jid := t.chatOf(c.ID)
	barred := now.barred(c.Type == "private")
	switch counts := t.Serves(jid); {
	case !counts && barred == nil:
		t.Log.Info("the bot is in a chat that no group has", "chat", jid, "name", channel.CleanName(c.Title))
		return
	case !counts:
		return
	case barred != nil:
		t.Log.Warn("the bot cannot write to a chat any more", "chat", jid, "error", said(barred), "remedy", channel.HintOf(barred))
	}
	t.membership.note(jid, barred)
}
