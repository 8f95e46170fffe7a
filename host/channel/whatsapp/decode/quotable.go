package decode

import (
	"cmp"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"
)

// The largest message that a quote repeats whole, in bytes, and how much text the
// quote of a larger message has, in characters.
const (
	MaxQuoted     = 64 << 10
	maxQuotedText = 4096
)

// Quotable returns the part of a message that a quote repeats: its content, without its own
// quote and metadata. The metadata has the message's secret, with which anybody can read and
// forge votes and edits in the writer's name.
func Quotable(m *waE2E.Message) *waE2E.Message {
	inner, part := contentOf(m)
	switch valueOf(inner, part).(type) {
	case string, *waE2E.ExtendedTextMessage, *waE2E.ImageMessage, *waE2E.VideoMessage, *waE2E.AudioMessage, *waE2E.DocumentMessage,
		*waE2E.StickerMessage, *waE2E.LocationMessage, *waE2E.ContactMessage:
		if part == nil || proto.Size(inner) > MaxQuoted {
			break
		}
		content, r := &waE2E.Message{}, proto.Clone(inner).ProtoReflect()
		content.ProtoReflect().Set(part, r.Get(part))
		if part.Message() != nil {
			c := r.Get(part).Message()
			c.Clear(c.Descriptor().Fields().ByName("contextInfo"))
		}
		return content
	}
	return &waE2E.Message{Conversation: proto.String(First(OwnText(m), maxQuotedText))}
}

// OwnText returns the text of a message of ours, or the question of a poll.
func OwnText(m *waE2E.Message) string {
	return cmp.Or(m.GetPollCreationMessage().GetName(), Message(m, Meta{}).Text)
}
