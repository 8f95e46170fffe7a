package whatsapp

import (
	"context"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/groups"
)

// maxQuoted is the largest message that is repeated inside its answer; of a
// larger one only the text is.
const maxQuoted = 64 << 10

// about is what a message says of itself: which one it answers, and after
// which time the chat forgets it. A message that is no longer known cannot be
// quoted; the note says so.
func (s *session) about(ctx context.Context, chat groups.JID, replyTo string, expiration uint32) (*waE2E.ContextInfo, string, error) {
	info := &waE2E.ContextInfo{}
	note := ""
	if replyTo != "" {
		participant, quoted, err := s.known(ctx, chat, replyTo)
		if err != nil {
			return nil, "", err
		}
		if quoted == nil {
			note = "sent without a quote: the message it answers is too old to be known"
		} else {
			info.StanzaID, info.Participant, info.QuotedMessage = &replyTo, &participant, quotable(quoted)
		}
	}
	if expiration != 0 {
		info.Expiration = &expiration
	}
	if info.StanzaID == nil && info.Expiration == nil {
		return nil, note, nil
	}
	return info, note, nil
}

// known looks up a message of a chat, ours or a member's, and who wrote it.
func (s *session) known(ctx context.Context, chat groups.JID, id string) (participant string, m *waE2E.Message, err error) {
	ours, err := s.ledger.sent(ctx, id)
	if err != nil {
		return "", nil, err
	}
	if ours != nil && ours.chat == chat {
		return s.self.ToNonAD().String(), ours.message, nil
	}
	theirs, err := s.ledger.inbound(ctx, chat, id)
	if err != nil || theirs == nil {
		return "", nil, err
	}
	return theirs.info.Sender.ToNonAD().String(), theirs.message, nil
}

// quotable is a message as it stands inside its answer: without what it
// itself answered.
func quotable(m *waE2E.Message) *waE2E.Message {
	if proto.Size(m) > maxQuoted {
		return &waE2E.Message{Conversation: proto.String(textOf(m))}
	}
	m = proto.Clone(m).(*waE2E.Message)
	if w := m.GetDocumentWithCaptionMessage().GetMessage(); w != nil {
		m = w
	}
	if c := contextOf(m); c != nil {
		c.QuotedMessage = nil
	}
	return m
}
