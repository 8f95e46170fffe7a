package whatsapp

import (
	"strings"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// contextOf returns a message's ContextInfo (quote, mentions, timer), or nil.
func contextOf(m *waE2E.Message) *waE2E.ContextInfo {
	for _, c := range []*waE2E.ContextInfo{
		m.GetExtendedTextMessage().GetContextInfo(), m.GetImageMessage().GetContextInfo(), m.GetVideoMessage().GetContextInfo(),
		m.GetAudioMessage().GetContextInfo(), m.GetDocumentMessage().GetContextInfo(), m.GetStickerMessage().GetContextInfo(),
		m.GetLocationMessage().GetContextInfo(), m.GetContactMessage().GetContextInfo(),
	} {
		if c != nil {
			return c
		}
	}
	if w := m.GetDocumentWithCaptionMessage().GetMessage(); w != nil {
		return contextOf(w)
	}
	if w := m.GetProtocolMessage().GetEditedMessage(); w != nil {
		return contextOf(w)
	}
	return nil
}

// actOf returns the kind of a member's message (message, edit, deletion, reaction, vote)
// and the id of the message that it refers to, which a plain message does not have.
func actOf(m *waE2E.Message) (kind channel.Kind, target string) {
	switch p, r := m.GetProtocolMessage(), m.GetReactionMessage(); {
	case p != nil && p.GetType() == waE2E.ProtocolMessage_REVOKE:
		return channel.KindDeletion, p.GetKey().GetID()
	case p.GetType() == waE2E.ProtocolMessage_MESSAGE_EDIT:
		return channel.KindEdit, p.GetKey().GetID()
	case r != nil:
		return channel.KindReaction, r.GetKey().GetID()
	case m.GetPollUpdateMessage() != nil:
		return channel.KindVote, m.GetPollUpdateMessage().GetPollCreationMessageKey().GetID()
	case m.GetLocationMessage() != nil:
		return channel.KindLocation, ""
	}
	return channel.KindMessage, ""
}

// locationOf converts a message's location.
func locationOf(l *waE2E.LocationMessage) *channel.Location {
	return &channel.Location{
		Latitude: l.GetDegreesLatitude(), Longitude: l.GetDegreesLongitude(),
		Name: strings.Join(strings.Fields(l.GetName()+" "+l.GetAddress()), " "),
	}
}

// textOf returns a message's text or caption. For a message that has neither and
// is not a file, such as a contact, it returns words that describe the message.
func textOf(m *waE2E.Message) string {
	for _, s := range []string{
		m.GetConversation(), m.GetExtendedTextMessage().GetText(), m.GetImageMessage().GetCaption(),
		m.GetVideoMessage().GetCaption(), m.GetDocumentMessage().GetCaption(),
	} {
		if s != "" {
			return s
		}
	}
	if w := m.GetDocumentWithCaptionMessage().GetMessage(); w != nil {
		return textOf(w)
	}
	if w := m.GetProtocolMessage().GetEditedMessage(); w != nil {
		return textOf(w)
	}
	if l := m.GetLocationMessage(); l != nil {
		return locationOf(l).String()
	}
	if c := m.GetContactMessage(); c != nil {
		return "Contact: " + c.GetDisplayName() + "\n" + c.GetVcard()
	}
	return ""
}

// downloadable returns the file in a message and its claimed name, type and size;
// nil without a file.
func downloadable(m *waE2E.Message, at time.Time) (whatsmeow.DownloadableMessage, media.Info) {
	info := func(kind media.Kind, claim, name string, size uint64) media.Info {
		return media.Claimed(kind, name, claim, size, at)
	}
	switch {
	case m.GetImageMessage() != nil:
		i := m.GetImageMessage()
		return i, info(media.Image, i.GetMimetype(), "", i.GetFileLength())
	case m.GetVideoMessage() != nil:
		v := m.GetVideoMessage()
		f := info(media.Video, v.GetMimetype(), "", v.GetFileLength())
		f.Loop = v.GetGifPlayback()
		return v, f
	case m.GetAudioMessage() != nil:
		a, kind := m.GetAudioMessage(), media.Audio
		if a.GetPTT() {
			kind = media.Voice
		}
		return a, info(kind, a.GetMimetype(), "", a.GetFileLength())
	case m.GetDocumentMessage() != nil:
		d := m.GetDocumentMessage()
		name := d.GetFileName()
		if name == "" {
			name = d.GetTitle()
		}
		return d, info(media.Document, d.GetMimetype(), name, d.GetFileLength())
	case m.GetStickerMessage() != nil:
		s := m.GetStickerMessage()
		return s, info(media.Sticker, s.GetMimetype(), "", s.GetFileLength())
	case m.GetDocumentWithCaptionMessage().GetMessage() != nil:
		return downloadable(m.GetDocumentWithCaptionMessage().GetMessage(), at)
	}
	return nil, media.Info{}
}
