package whatsapp

import (
	"context"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/decode"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/directory"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/outcome"
)

// contextInfo builds the quote and the disappearing timer of an outgoing message;
// nil if it has neither. A message that is no longer recorded cannot be quoted.
func (s *session) contextInfo(ctx context.Context, m outgoing, chat directory.Facts) (*waE2E.ContextInfo, error) {
	info := &waE2E.ContextInfo{}
	if m.ReplyTo != "" {
		id, writer, quoted, err := s.findMessage(ctx, m.Chat, m.ReplyTo)
		if err != nil {
			return nil, outcome.StoreFailed("look up what the message answers", err)
		}
		if quoted == nil {
			return nil, outcome.ReplyTooOld()
		}
		info.StanzaID, info.Participant, info.QuotedMessage = &id, proto.String(writer.Address(chat.Hidden)), decode.Quotable(quoted)
	}
	if chat.Expiration != 0 {
		info.Expiration = &chat.Expiration
	}
	if info.StanzaID == nil && info.Expiration == nil {
		return nil, nil
	}
	return info, nil
}

// findMessage returns a recorded message of a chat, ours or a member's, its writer, and the id
// that it has for members.
func (s *session) findMessage(ctx context.Context, chat groups.JID, id string) (shown string, writer directory.Member, m *waE2E.Message, err error) {
	ours, err := s.messages.Shown(ctx, id)
	if err != nil {
		return "", directory.Member{}, nil, err
	}
	if ours != nil && ours.Chat == chat {
		return ours.ID, directory.NewMember(s.people.Me, s.people.LID), ours.Message, nil
	}
	theirs, err := s.messages.FindInbound(ctx, chat, id)
	if err != nil || theirs == nil {
		return "", directory.Member{}, nil, err
	}
	return id, theirs.Writer(), theirs.Message, nil
}
