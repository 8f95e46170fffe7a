package decode

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

func wrap(m *waE2E.Message) *waE2E.FutureProofMessage { return &waE2E.FutureProofMessage{Message: m} }

func image(caption string) *waE2E.Message {
	return &waE2E.Message{ImageMessage: &waE2E.ImageMessage{Mimetype: proto.String("image/jpeg"), Caption: &caption}}
}

func edited(m *waE2E.Message) *waE2E.Message {
	return &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{
		Type: waE2E.ProtocolMessage_MESSAGE_EDIT.Enum(), Key: &waCommon.MessageKey{ID: proto.String("1")}, EditedMessage: m,
	}}
}

func associated(m *waE2E.Message, how waE2E.MessageAssociation_AssociationType) *waE2E.Message {
	m.MessageContextInfo = &waE2E.MessageContextInfo{MessageAssociation: &waE2E.MessageAssociation{AssociationType: &how}}
	return m
}

// newer adds a field that the library does not know.
func newer[M proto.Message](m M) M {
	m.ProtoReflect().SetUnknown(protoreflect.RawFields(protowire.AppendVarint(protowire.AppendTag(nil, 500, protowire.VarintType), 1)))
	return m
}

func TestWhatAMessageSaysIsDecoded(t *testing.T) {
	key := &waCommon.MessageKey{ID: proto.String("1"), Participant: proto.String("2@lid")}
	card := func(name, rest string) *waE2E.ContactMessage {
		return &waE2E.ContactMessage{DisplayName: &name, Vcard: proto.String("BEGIN:VCARD\r\nFN:Bo Ek\r\n" + rest + "END:VCARD")}
	}
	buttons := &waE2E.TemplateMessage_HydratedFourRowTemplate{
		Title:               &waE2E.TemplateMessage_HydratedFourRowTemplate_ImageMessage{ImageMessage: image("the plan").ImageMessage},
		HydratedContentText: proto.String("Choose"), TemplateID: proto.String("t1"),
		HydratedButtons: []*waE2E.HydratedTemplateButton{{HydratedButton: &waE2E.HydratedTemplateButton_UrlButton{
			UrlButton: &waE2E.HydratedTemplateButton_HydratedURLButton{DisplayText: proto.String("open"), URL: proto.String("https://example.org")},
		}}},
	}
	for name, tt := range map[string]struct {
		m    *waE2E.Message
		want string // as outcome says it
	}{
		"a caption that was edited":          {&waE2E.Message{EditedMessage: wrap(edited(image("new")))}, "edit, about a message, new"},
		"an edited caption of a document":    {edited(&waE2E.Message{DocumentWithCaptionMessage: wrap(&waE2E.Message{DocumentMessage: &waE2E.DocumentMessage{Caption: proto.String("new")}})}), "edit, about a message, new"},
		"a caption that was removed":         {edited(image("")), "edit, about a message"},
		"an edit of nothing":                 {edited(nil), "ignored: an edit without content"},
		"a wrapped picture":                  {&waE2E.Message{EphemeralMessage: wrap(&waE2E.Message{ViewOnceMessageV2: wrap(image("look"))})}, "message, look, with a file"},
		"a picture in HD, which came in SD":  {&waE2E.Message{AssociatedChildMessage: wrap(associated(image(""), waE2E.MessageAssociation_HD_IMAGE_DUAL_UPLOAD))}, "ignored: belongs to a message that has come: another size of a picture, or a picture of a poll or event"},
		"a picture of an album":              {associated(image(""), waE2E.MessageAssociation_MEDIA_ALBUM), "message, with a file"},
		"a picture of an event":              {&waE2E.Message{EventCoverImage: wrap(image(""))}, "ignored: belongs to a message that has come: another size of a picture, or a picture of a poll or event"},
		"a newer kind":                       {newer(&waE2E.Message{}), "message, a message of a kind that is newer than this program, (told)"},
		"a newer kind in a wrapping":         {&waE2E.Message{ViewOnceMessage: wrap(newer(&waE2E.Message{}))}, "message, a message of a kind that is newer than this program, (told)"},
		"a newer change, read as a deletion": {&waE2E.Message{ProtocolMessage: newer(&waE2E.ProtocolMessage{Key: key})}, "note, a change of a kind that is newer than this program, (told)"},
		"nothing":                            {&waE2E.Message{}, "ignored: keys by which devices read other messages"},
		"an empty text":                      {words(""), "ignored: without a word or a file"},
		"an empty wrapping":                  {&waE2E.Message{ViewOnceMessage: wrap(nil)}, "ignored: keys by which devices read other messages"},
		"contacts":                           {&waE2E.Message{ContactsArrayMessage: &waE2E.ContactsArrayMessage{Contacts: []*waE2E.ContactMessage{card("Bo", "item1.TEL;waid=49150:+49 150\r\nEMAIL:bo@example.org\r\n"), card("", "TEL;VALUE=uri:tel:+49151\r\n")}}}, "contact, Contact: Bo +49 150 bo@example.org | Contact: Bo Ek +49151"},
		"a link of other words":              {&waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{Text: proto.String("here"), MatchedText: proto.String("https://example.org")}}, "message, here | https://example.org"},
		"a link in the text":                 {&waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{Text: proto.String("see example.org"), MatchedText: proto.String("example.org")}}, "message, see example.org"},
		"a comment":                          {&waE2E.Message{CommentMessage: &waE2E.CommentMessage{Message: image("this"), TargetMessageKey: key}}, "message, this, with a file"},
		"buttons":                            {&waE2E.Message{TemplateMessage: &waE2E.TemplateMessage{HydratedTemplate: buttons}}, "message, a message with buttons | the plan | Choose | open | https://example.org, with a file, (told)"},
		"an unpin":                           {&waE2E.Message{PinInChatMessage: &waE2E.PinInChatMessage{Key: key, Type: waE2E.PinInChatMessage_UNPIN_FOR_ALL.Enum()}}, "note, about a message, unpinned a message"},
		"a missed call":                      {&waE2E.Message{CallLogMesssage: &waE2E.CallLogMessage{IsVideo: proto.Bool(true), CallOutcome: waE2E.CallLogMessage_SILENCED_BY_DND.Enum()}}, "note, video call: silenced by dnd"},
		"a cancelled event":                  {&waE2E.Message{EventMessage: &waE2E.EventMessage{Name: proto.String("Meeting"), IsCanceled: proto.Bool(true)}}, "note, cancelled an event: Meeting"},
		"a reaction to nothing":              {&waE2E.Message{ReactionMessage: &waE2E.ReactionMessage{Text: proto.String("👍")}}, "ignored: names no message"},
		"keys beside a text":                 {&waE2E.Message{SenderKeyDistributionMessage: &waE2E.SenderKeyDistributionMessage{}, Conversation: proto.String("hello")}, "message, hello"},
	} {
		if got := outcome(Message(tt.m, Meta{Time: time.Unix(0, 0)})); got != tt.want {
			t.Errorf("%s is %q, want %q", name, got, tt.want)
		}
	}
}

func TestAForwardedMessageIsMarked(t *testing.T) {
	about := &waE2E.ContextInfo{IsForwarded: proto.Bool(true), ForwardedNewsletterMessageInfo: &waE2E.ContextInfo_ForwardedNewsletterMessageInfo{NewsletterName: proto.String("Harbour\nnews")}}
	m := image("look")
	m.ImageMessage.ContextInfo = about
	for _, m := range []*waE2E.Message{m, {EphemeralMessage: wrap(m)}, {BotForwardedMessage: wrap(words("said Meta AI"))}} {
		if d := Message(m, Meta{}); !d.Forwarded || m.BotForwardedMessage == nil && d.Author != "Harbour news" {
			t.Errorf("%v is %+v", m, d)
		}
	}
}

func TestAMessageThatIsNestedOrWideIsBounded(t *testing.T) {
	deep := words("inside")
	for range 1000 {
		deep = &waE2E.Message{EphemeralMessage: wrap(&waE2E.Message{CommentMessage: &waE2E.CommentMessage{Message: deep}})}
	}
	wide := &waE2E.ListMessage{}
	for i := range 100_000 {
		wide.Sections = append(wide.Sections, &waE2E.ListMessage_Section{Title: proto.String(strings.Repeat("x", i%100))})
	}
	for _, m := range []*waE2E.Message{deep, {ListMessage: wide}} {
		if d := Message(m, Meta{}); d.Text == "" || len(d.Text) > 100*maxCollected {
			t.Errorf("%d bytes of text", len(d.Text))
		}
	}
	if diff := cmp.Diff("inside", Message(deep, Meta{}).Text); diff != "" {
		t.Error(diff)
	}
}

// A message of 200 KB with 100,000 empty contacts occupied the host for minutes: each contact
// copied the text of those before it.
func TestManyContactsCostNoMoreThanTheirBytes(t *testing.T) {
	m := &waE2E.ContactsArrayMessage{}
	for range 5000 {
		m.Contacts = append(m.Contacts, &waE2E.ContactMessage{})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d := Message(&waE2E.Message{ContactsArrayMessage: m}, Meta{})
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 20<<20 || !strings.HasPrefix(d.Text, "Contact:\nContact:") {
		t.Errorf("it took %d MiB: %.30q", used>>20, d.Text)
	}
}
