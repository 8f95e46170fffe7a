package whatsapp

import (
	"context"
	"errors"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/host/channel"
)

// chatFacts is what a send has to know of a chat.
type chatFacts struct {
	expiration uint32 // seconds after which the chat forgets a message; 0: never
	adminsOnly bool   // only admins write, and the account is none
}

// chat looks at a chat before anything is uploaded for it.
func (s *session) chat(ctx context.Context, to types.JID) (chatFacts, error) {
	s.chatsMu.Lock()
	known, ok := s.chats[to]
	s.chatsMu.Unlock()
	if !ok {
		var err error
		if known, err = s.ask(ctx, to); err != nil {
			return chatFacts{}, err
		}
		s.chatsMu.Lock()
		s.chats[to] = known
		s.chatsMu.Unlock()
	}
	if known.adminsOnly {
		return chatFacts{}, adminsOnly()
	}
	return known, nil
}

func (s *session) ask(ctx context.Context, to types.JID) (chatFacts, error) {
	if to.Server != types.GroupServer {
		devices, err := s.client.GetUserDevices(ctx, []types.JID{to})
		if err != nil {
			return chatFacts{}, notReady(ctx, err)
		}
		if len(devices) == 0 {
			return chatFacts{}, notOnWhatsApp()
		}
		return chatFacts{}, nil
	}
	info, err := s.client.GetGroupInfo(ctx, to)
	switch {
	case errors.Is(err, whatsmeow.ErrGroupNotFound), errors.Is(err, whatsmeow.ErrNotInGroup):
		return chatFacts{}, notAMember(err)
	case err != nil:
		return chatFacts{}, notReady(ctx, err)
	}
	known := chatFacts{adminsOnly: info.IsAnnounce}
	if info.IsEphemeral {
		known.expiration = info.DisappearingTimer
	}
	for _, p := range info.Participants {
		if p.IsAdmin && (s.isSelf(p.JID) || s.isSelf(p.PhoneNumber) || s.isSelf(p.LID)) {
			known.adminsOnly = false
		}
	}
	return known, nil
}

// notReady is a question that WhatsApp did not answer.
func notReady(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	if errors.Is(err, whatsmeow.ErrNotConnected) {
		return notConnected(err)
	}
	return passing("whatsapp_not_ready", "WhatsApp did not answer a question about the chat", err)
}

// forgetChat asks again next time, where err speaks of the chat.
func (s *session) forgetChat(chat types.JID, err error) {
	if err != nil && channel.ClassOf(err) != channel.Permanent {
		return
	}
	s.chatsMu.Lock()
	defer s.chatsMu.Unlock()
	delete(s.chats, chat)
}

// isSelf says whether an address is the account's own, whatever its device.
func (s *session) isSelf(j types.JID) bool {
	return j.User != "" && (j.User == s.self.User && j.Server == s.self.Server || j.User == s.selfLID.User && j.Server == s.selfLID.Server)
}
