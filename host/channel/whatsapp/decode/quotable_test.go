package decode

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// A quote repeated the whole message of a member: his message's secret, the
// keys of his group session, what he had quoted and whom he had mentioned.
func TestAQuoteHoldsTheContentAlone(t *testing.T) {
	about := &waE2E.ContextInfo{StanzaID: proto.String("1"), QuotedMessage: &waE2E.Message{Conversation: proto.String("before")}, MentionedJID: []string{"a@lid"}}
	contents := map[string]func(*waE2E.ContextInfo) *waE2E.Message{
		"text": func(*waE2E.ContextInfo) *waE2E.Message { return &waE2E.Message{Conversation: proto.String("x")} },
		"answer": func(c *waE2E.ContextInfo) *waE2E.Message {
			return &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{Text: proto.String("x"), ContextInfo: c}}
		},
		"image": func(c *waE2E.ContextInfo) *waE2E.Message {
			return &waE2E.Message{ImageMessage: &waE2E.ImageMessage{Caption: proto.String("x"), ContextInfo: c}}
		},
		"video": func(c *waE2E.ContextInfo) *waE2E.Message {
			return &waE2E.Message{VideoMessage: &waE2E.VideoMessage{Caption: proto.String("x"), ContextInfo: c}}
		},
		"audio": func(c *waE2E.ContextInfo) *waE2E.Message {
			return &waE2E.Message{AudioMessage: &waE2E.AudioMessage{Seconds: proto.Uint32(1), ContextInfo: c}}
		},
		"document": func(c *waE2E.ContextInfo) *waE2E.Message {
			return &waE2E.Message{DocumentMessage: &waE2E.DocumentMessage{FileName: proto.String("x"), ContextInfo: c}}
		},
		"sticker": func(c *waE2E.ContextInfo) *waE2E.Message {
			return &waE2E.Message{StickerMessage: &waE2E.StickerMessage{Mimetype: proto.String("x"), ContextInfo: c}}
		},
		"location": func(c *waE2E.ContextInfo) *waE2E.Message {
			return &waE2E.Message{LocationMessage: &waE2E.LocationMessage{Name: proto.String("x"), ContextInfo: c}}
		},
		"contact": func(c *waE2E.ContextInfo) *waE2E.Message {
			return &waE2E.Message{ContactMessage: &waE2E.ContactMessage{DisplayName: proto.String("x"), ContextInfo: c}}
		},
	}
	for name, content := range contents {
		whole := content(about)
		whole.MessageContextInfo = &waE2E.MessageContextInfo{MessageSecret: make([]byte, 32)}
		whole.SenderKeyDistributionMessage = &waE2E.SenderKeyDistributionMessage{GroupID: proto.String("g")}
		wrapped := &waE2E.Message{
			DocumentWithCaptionMessage: &waE2E.FutureProofMessage{Message: whole},
			MessageContextInfo:         &waE2E.MessageContextInfo{MessageSecret: make([]byte, 32)},
		}
		for _, m := range []*waE2E.Message{whole, wrapped} {
			before := proto.Clone(m)
			if diff := cmp.Diff(content(nil), Quotable(m), protocmp.Transform()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			if !proto.Equal(m, before) {
				t.Errorf("%s: the message itself has changed", name)
			}
		}
	}
}
