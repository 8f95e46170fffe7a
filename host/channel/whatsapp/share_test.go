package whatsapp_test

import (
	"bytes"
	"testing"

	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

// robotNumber is one of those that Meta gives to its robots.
const robotNumber = "13135550002"

// lacks are the cases that WhatsApp does not have.
func lacks() map[channeltest.Case]string {
	return map[channeltest.Case]string{
		channeltest.QuotePart:     "an answer quotes a whole message",
		channeltest.NamelessAdmin: "admins write in their own names",
	}
}

// shares lets Anna send what the case says, as her app does.
func (w *world) shares(chat groups.JID, s channeltest.Shared) {
	w.t.Helper()
	about := &waE2E.ContextInfo{}
	switch s.Case {
	case channeltest.Forward, channeltest.ForwardFile, channeltest.ForwardBare, channeltest.ForwardAuthor:
		about.IsForwarded, about.ForwardingScore = proto.Bool(true), proto.Uint32(1)
		if s.Case == channeltest.ForwardAuthor { // told of channels alone
			about.ForwardedNewsletterMessageInfo = &waE2E.ContextInfo_ForwardedNewsletterMessageInfo{NewsletterName: &s.Author}
		}
	case channeltest.ForwardQuoted, channeltest.QuoteFile, channeltest.QuoteElsewhere:
		about.StanzaID, about.Participant = proto.String("3EB0AB"+newID()[:8]), proto.String("4915550000009@s.whatsapp.net")
		about.QuotedMessage = w.said(*s.Quote, &waE2E.ContextInfo{IsForwarded: proto.Bool(s.Case == channeltest.ForwardQuoted)})
		if s.Case == channeltest.QuoteElsewhere {
			about.RemoteJID = proto.String(string(nobody))
		}
	case channeltest.Renamed:
		w.anna.Phone.Rename(s.From)
		defer w.anna.Phone.Rename("Anna")
	case channeltest.Robot:
		robot := w.srv.NewMember(w.t, robotNumber, s.From)
		if _, err := robot.SendText(soon(w.t), waJID(chat), s.Text); err != nil {
			w.t.Fatal(err)
		}
		return
	}
	w.says(chat, w.shared(s, about))
}

// shared is the message of a case.
func (w *world) shared(s channeltest.Shared, about *waE2E.ContextInfo) *waE2E.Message {
	w.t.Helper()
	switch s.Case {
	case channeltest.HiddenLink: // the preview leads elsewhere than the words
		return &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{Text: &s.Text, MatchedText: &s.Address}}
	case channeltest.Place, channeltest.Venue:
		return &waE2E.Message{LocationMessage: &waE2E.LocationMessage{DegreesLatitude: &s.Place.Latitude, DegreesLongitude: &s.Place.Longitude, Name: &s.Place.Name}}
	case channeltest.Contact:
		card := "BEGIN:VCARD\nVERSION:3.0\nN:;" + s.Name + ";;;\nFN:" + s.Name + "\nitem1.TEL;type=CELL;waid=49150000000:" + s.Number + "\nitem1.X-ABLabel:Mobile\nEND:VCARD"
		return &waE2E.Message{ContactMessage: &waE2E.ContactMessage{DisplayName: &s.Name, Vcard: &card}}
	case channeltest.Poll:
		return &waE2E.Message{PollCreationMessageV3: memberPoll(s.Text, s.Choices...)}
	case channeltest.Sticker, channeltest.StickerName:
		return &waE2E.Message{LottieStickerMessage: &waE2E.FutureProofMessage{Message: &waE2E.Message{StickerMessage: &waE2E.StickerMessage{
			Mimetype: proto.String("application/was"), IsLottie: proto.Bool(true), AccessibilityLabel: &s.Name,
		}}}}
	case channeltest.StickerPicture:
		return w.uploaded(whatsapptest.File{Kind: "sticker", MIME: s.File.MIME, Body: bytes.NewReader(s.File.Data)})
	case channeltest.Photo:
		return w.uploaded(whatsapptest.File{Kind: "image", MIME: s.File.MIME, Body: bytes.NewReader(s.File.Data)})
	case channeltest.Pin:
		return &waE2E.Message{PinInChatMessage: &waE2E.PinInChatMessage{Key: &waCommon.MessageKey{ID: proto.String("1")}, Type: waE2E.PinInChatMessage_PIN_FOR_ALL.Enum()}}
	case channeltest.Unknown:
		return &waE2E.Message{GroupInviteMessage: &waE2E.GroupInviteMessage{GroupName: proto.String("Harbour"), Caption: proto.String("join us")}}
	}
	return w.said(s.Said, about)
}

// said is a text or a document.
func (w *world) said(s channeltest.Said, about *waE2E.ContextInfo) *waE2E.Message {
	w.t.Helper()
	if s.File == nil {
		return &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{Text: &s.Text, ContextInfo: about}}
	}
	m := w.uploaded(whatsapptest.File{Name: s.File.Name, MIME: s.File.MIME, Body: bytes.NewReader(s.File.Data)})
	m.DocumentMessage.ContextInfo = about
	if s.Text == "" {
		return m
	}
	m.DocumentMessage.Caption = &s.Text
	return &waE2E.Message{DocumentWithCaptionMessage: &waE2E.FutureProofMessage{Message: m}}
}

func (w *world) uploaded(f whatsapptest.File) *waE2E.Message {
	w.t.Helper()
	m, err := w.anna.Upload(soon(w.t), f)
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

// The libraries' own way of encrypting what members of an announcement group write.
func TestWhatASecretEncryptsComesIn(t *testing.T) {
	w := newWorld(t)
	chat := groups.JID("120363000000000007@g.us")
	w.srv.AddGroup(whatsapptest.Group{JID: waJID(chat), Members: []string{botNumber, annaNumber}, LID: true})
	w.run()
	ours := w.send(text(chat, "the plan"))
	e := w.seen(chat, 1)[0]
	key := w.anna.Client.BuildMessageKey(waJID(chat), w.bot.LID(), ours.ID)
	reaction, err := w.anna.Client.EncryptReaction(soon(t), &e.Info, &waE2E.ReactionMessage{Key: key, Text: proto.String("👍")})
	if err != nil {
		t.Fatal(err)
	}
	comment, err := w.anna.Client.EncryptComment(soon(t), &e.Info, plain("a good one"))
	if err != nil {
		t.Fatal(err)
	}
	w.says(chat, &waE2E.Message{EncReactionMessage: reaction})
	w.says(chat, comment)
	got := w.received(2)
	if got[0].Emoji != "👍" || got[0].Target != ours.ID {
		t.Errorf("a reaction came in as %+v", got[0])
	}
	if got[1].Text != "a good one" || got[1].Quote == nil || !got[1].Quote.Own || !got[1].Direct {
		t.Errorf("a comment came in as %+v on %+v", got[1], got[1].Quote)
	}
	for _, iv := range [][]byte{nil, {1}, make([]byte, 12), make([]byte, 13)} {
		w.says(chat, &waE2E.Message{EncReactionMessage: &waE2E.EncReactionMessage{TargetMessageKey: key, EncIV: iv}})
	}
	for _, in := range w.received(6)[2:] {
		if in.Told != "encReactionMessage" || in.Kind != "note" {
			t.Errorf("a reaction that cannot be read came in as %+v", in)
		}
	}
	w.quiet()
}
