// Package decode turns a message of WhatsApp's schema into what the host gets of it. It is
// the only package that knows what the schema's fields mean; it does no I/O.
package decode

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/longshore-bridge/longshore/host/channel"
)

// Content is what a message says in itself. Who wrote it and what it answers come from the
// message's record and the address book.
type Content struct {
	channel.Inbound                               // without ids, names and Ref
	Context         *waE2E.ContextInfo            // mentions, quote, timer; may be nil
	File            whatsmeow.DownloadableMessage // the keys and the path of the file in Files; nil without a file
	Ignored         string                        // why the host does not get the message; empty if it does
	at              time.Time                     // when the message was written
}

// OnlyKeys is the Ignored of the most frequent messages.
const OnlyKeys = "keys by which devices read other messages"

// Message decodes a message with the metadata of its record. A kind that this program does
// not know is described in words.
func Message(m *waE2E.Message, info Meta) Content {
	d := Content{at: info.Time}
	switch {
	case info.IsMembership():
		d.Kind = channel.KindMembership
	case info.Unread != "":
		d.describe(info.Unread, unreadWords(info.Unread))
	default:
		d.read(m)
	}
	d.Choices = info.Choices
	if f := d.Context.GetForwardedNewsletterMessageInfo(); f != nil {
		d.Author = CleanName(f.GetNewsletterName())
	}
	d.Text, d.Target = First(d.Text, MaxText), First(d.Target, MaxID)
	return d
}

// describe sets a description as the text of a message of a kind that has no other form.
func (d *Content) describe(kind, words string) { d.Told, d.Text = kind, channel.NotShown(words) }

// note makes the content a note about the message with that key: nobody has to answer it.
func (d *Content) note(about *waCommon.MessageKey, words string) {
	d.Kind, d.Target, d.Text = channel.KindNote, about.GetID(), words
}

func (d *Content) read(m *waE2E.Message) {
	inner, part := contentOf(m)
	if part == nil {
		if d.Ignored = OnlyKeys; len(inner.ProtoReflect().GetUnknown()) > 0 {
			d.Ignored = ""
			d.describe("unknown", "a message of a kind that is newer than this program")
		}
		return
	}
	content := valueOf(inner, part)
	d.Context = ContextOf(content)
	if c, ok := content.(proto.Message); !ok {
		d.Text = inner.GetConversation()
	} else if !d.message(c) && !d.act(c) {
		d.describeOther(part.Name(), c)
	}
	if d.Kind == channel.KindMessage {
		d.link(d.Context.GetExternalAdReply().GetSourceURL())
	}
	d.Forwarded = d.Context.GetIsForwarded() || m.GetBotForwardedMessage() != nil
	switch {
	case belongs(m) || belongs(inner):
		d.Ignored = "belongs to a message that has come: another size of a picture, or a picture of a poll or event"
	case d.Text == "" && d.File == nil && d.Kind == channel.KindMessage && d.Ignored == "":
		d.Ignored = "without a word or a file"
	}
}

// belongs reports whether a message only adds to another message that the host gets.
func belongs(m *waE2E.Message) bool {
	if m.GetEventCoverImage() != nil || m.GetPollCreationOptionImageMessage() != nil {
		return true
	}
	switch m.GetMessageContextInfo().GetMessageAssociation().GetAssociationType() {
	case waE2E.MessageAssociation_HD_VIDEO_DUAL_UPLOAD, waE2E.MessageAssociation_HD_IMAGE_DUAL_UPLOAD, waE2E.MessageAssociation_HEVC_VIDEO_DUAL_UPLOAD,
		waE2E.MessageAssociation_MOTION_PHOTO, waE2E.MessageAssociation_EVENT_COVER_IMAGE, waE2E.MessageAssociation_MEDIA_POLL:
		return true
	}
	return false
}

// message decodes the kinds by which a member says something. It returns false for others.
func (d *Content) message(part proto.Message) bool {
	switch p := part.(type) {
	case *waE2E.ExtendedTextMessage:
		d.Text = p.GetText()
		d.link(p.GetMatchedText())
	case *waE2E.ImageMessage, *waE2E.VideoMessage, *waE2E.AudioMessage, *waE2E.DocumentMessage:
		d.attach(p)
	case *waE2E.StickerMessage:
		d.attach(p)
		d.Kind, d.Text = channel.KindSticker, channel.StickerText(channel.CleanName(p.GetAccessibilityLabel()))
	case *waE2E.LocationMessage:
		d.locate(p.GetDegreesLatitude(), p.GetDegreesLongitude(), p.GetName()+" "+p.GetAddress(), p.GetComment())
	case *waE2E.LiveLocationMessage:
		d.locate(p.GetDegreesLatitude(), p.GetDegreesLongitude(), "(live)", p.GetCaption())
	case *waE2E.ContactMessage:
		d.Kind, d.Text = channel.KindContact, contact(p)
	case *waE2E.ContactsArrayMessage:
		var all []string
		for _, c := range p.GetContacts() {
			all = append(all, contact(c))
		}
		d.Kind, d.Text = channel.KindContact, strings.Join(all, "\n")
	case *waE2E.PollCreationMessage:
		var choices []string
		for _, o := range p.GetOptions() {
			choices = append(choices, o.GetOptionName())
		}
		d.Kind, d.Text = channel.KindPoll, channel.PollText(p.GetName(), choices)
	case *waE2E.PollResultSnapshotMessage:
		var choices []string
		for _, v := range p.GetPollVotes() {
			choices = append(choices, fmt.Sprintf("%s (%d)", v.GetOptionName(), v.GetOptionVoteCount()))
		}
		d.Kind, d.Text = channel.KindPoll, channel.PollText(p.GetName(), choices)
	case *waE2E.ButtonsResponseMessage:
		d.Text = cmp.Or(p.GetSelectedDisplayText(), p.GetSelectedButtonID())
	case *waE2E.ListResponseMessage:
		d.Text = cmp.Or(p.GetTitle(), p.GetSingleSelectReply().GetSelectedRowID())
	case *waE2E.TemplateButtonReplyMessage:
		d.Text = cmp.Or(p.GetSelectedDisplayText(), p.GetSelectedID())
	case *waE2E.InteractiveResponseMessage:
		d.Text = cmp.Or(p.GetBody().GetText(), p.GetNativeFlowResponseMessage().GetParamsJSON())
	case *waE2E.CommentMessage:
		d.read(p.GetMessage())
		key := p.GetTargetMessageKey()
		d.Context = &waE2E.ContextInfo{StanzaID: proto.String(key.GetID()), Participant: proto.String(key.GetParticipant()), MentionedJID: d.Context.GetMentionedJID()}
	default:
		return false
	}
	return true
}

// act decodes what members do to messages and to the chat. It returns false for others.
func (d *Content) act(part proto.Message) bool {
	switch p := part.(type) {
	case *waE2E.ReactionMessage:
		d.Kind, d.Target, d.Emoji = channel.KindReaction, p.GetKey().GetID(), channel.CleanName(p.GetText())
	case *waE2E.PollUpdateMessage:
		d.Kind, d.Target = channel.KindVote, p.GetPollCreationMessageKey().GetID()
	case *waE2E.ProtocolMessage:
		d.protocol(p)
	case *waE2E.EventMessage:
		d.event(p)
	case *waE2E.PinInChatMessage:
		d.note(p.GetKey(), either(p.GetType() == waE2E.PinInChatMessage_UNPIN_FOR_ALL, channel.Unpinned, channel.Pinned))
	case *waE2E.KeepInChatMessage:
		d.note(p.GetKey(), either(p.GetKeepType() == waE2E.KeepType_UNDO_KEEP_FOR_ALL, "no longer keeps a message", "kept a message that would disappear"))
	case *waE2E.CallLogMessage:
		d.note(nil, either(p.GetIsVideo(), "video call: ", "voice call: ")+strings.ToLower(strings.ReplaceAll(p.GetCallOutcome().String(), "_", " ")))
		if p.GetDurationSecs() > 0 {
			d.Text += fmt.Sprintf(", %d s", p.GetDurationSecs())
		}
	default:
		return false
	}
	if named := d.Kind == channel.KindReaction || d.Kind == channel.KindVote || d.Kind == channel.KindEdit || d.Kind == channel.KindDeletion; named && d.Target == "" {
		d.Ignored = "names no message"
	}
	return true
}

// protocol reads edits, deletions and settings of a chat.
func (d *Content) protocol(p *waE2E.ProtocolMessage) {
	switch p.GetType() {
	case waE2E.ProtocolMessage_REVOKE:
		d.Kind, d.Target = channel.KindDeletion, p.GetKey().GetID()
		if p.Type == nil && len(p.ProtoReflect().GetUnknown()) > 0 { // a type that the library does not know
			d.describe("protocolMessage", "a change of a kind that is newer than this program")
			d.Kind, d.Target = channel.KindNote, ""
		}
	case waE2E.ProtocolMessage_MESSAGE_EDIT:
		inner := Content{at: d.at}
		inner.read(p.GetEditedMessage())
		d.Kind, d.Target, d.Text, d.Context = channel.KindEdit, p.GetKey().GetID(), inner.Text, inner.Context
		if inner.Text == "" && inner.File == nil {
			d.Ignored = "an edit without content"
		}
	case waE2E.ProtocolMessage_EPHEMERAL_SETTING:
		d.note(nil, "turned disappearing messages off")
		if s := p.GetEphemeralExpiration(); s > 0 {
			d.Text = fmt.Sprintf("set messages to disappear after %d hours", s/3600)
		}
	case waE2E.ProtocolMessage_SHARE_PHONE_NUMBER:
		d.note(nil, "shared their phone number")
	case waE2E.ProtocolMessage_GROUP_MEMBER_LABEL_CHANGE:
		d.note(nil, "changed their label in the group to: "+channel.CleanName(p.GetMemberLabel().GetLabel()))
	case waE2E.ProtocolMessage_STATUS_MENTION_MESSAGE:
		d.note(nil, "mentioned this chat in their status")
	case waE2E.ProtocolMessage_LIMIT_SHARING:
		d.note(nil, "changed whether messages may be shared outside this chat")
	default:
		d.Ignored = "between an account's own devices, or with Meta's bots"
	}
}

func (d *Content) event(e *waE2E.EventMessage) {
	d.note(nil, either(e.GetIsCanceled(), "cancelled an event: ", "made an event: ")+e.GetName())
	for i, at := range []int64{e.GetStartTime(), e.GetEndTime()} {
		if at != 0 {
			d.line([]string{"begins: ", "ends: "}[i] + time.Unix(at, 0).UTC().Format(time.RFC3339))
		}
	}
	if l := e.GetLocation(); l != nil {
		d.line(place(l.GetDegreesLatitude(), l.GetDegreesLongitude(), l.GetName()+" "+l.GetAddress()).String())
	}
	d.line(e.GetDescription())
	d.line(e.GetJoinLink())
}

// describeOther describes a message of any other kind, with the words and the file in it.
func (d *Content) describeOther(name protoreflect.Name, part proto.Message) {
	if d.Ignored = ignored[name]; d.Ignored != "" {
		return
	}
	if notes[name] != "" {
		d.note(nil, notes[name])
	} else if d.describe(string(name), cmp.Or(described[name], unreadable[name], string(name))); unreadable[name] != "" {
		d.Kind = channel.KindNote
	}
	d.collect(part)
}

// attach adds a file and its caption. It returns false if the part is no file.
func (d *Content) attach(part proto.Message) bool {
	file, info := downloadable(part, d.at)
	if file == nil {
		return false
	}
	d.File, d.Files = file, []channel.Attachment{{Info: info}}
	if c, ok := part.(interface{ GetCaption() string }); ok {
		d.line(c.GetCaption())
	}
	return true
}

func (d *Content) locate(latitude, longitude float64, name, caption string) {
	d.Kind, d.Location = channel.KindLocation, place(latitude, longitude, name)
	d.Text = d.Location.String()
	d.line(caption)
}

// Meta is recorded with a member's message, beside its content.
type Meta struct {
	Chat     types.JID // as WhatsApp addresses it
	Sender   types.JID // with the device
	Alt      types.JID // the sender's other address
	IsGroup  bool
	PushName string
	Time     time.Time

	Joined, Left []types.JID `json:",omitempty"` // of a group; then there is no content
	Choices      []string    `json:",omitempty"` // of a vote, decrypted
	Unread       string      `json:",omitempty"` // why the message cannot be read; then there is no content
}

// IsMembership reports whether members have joined or left.
func (i Meta) IsMembership() bool { return len(i.Joined)+len(i.Left) > 0 }

// TooLarge is the Unread of a message that is larger than what is kept of one.
const TooLarge = "too_large"

// unreadWords describes a message that the device cannot read.
func unreadWords(why string) string {
	switch why {
	case string(events.UnavailableTypeViewOnce):
		return "a picture, film or voice note to be viewed once, which only the phone shows"
	case TooLarge:
		return "a message that is too large"
	}
	return "a message that this device cannot read; the member can send it again"
}
