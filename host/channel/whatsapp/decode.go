package whatsapp

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/longshore-bridge/longshore/host/channel"
)

// said is what a message says in itself: its record and the address book add who wrote it,
// and what it answers.
type said struct {
	channel.Inbound                               // without ids, names and Ref
	about           *waE2E.ContextInfo            // whom it mentions and what it answers; may be nil
	file            whatsmeow.DownloadableMessage // by which Files is downloaded; nil without
	ignored         string                        // why the host does not get it; empty: it does
	at              time.Time
}

// onlyKeys is why the commonest of messages is ignored.
const onlyKeys = "keys by which devices read other messages"

// decode reads a message and what is recorded beside it. It is the only function that
// knows what WhatsApp's schema means. A kind that it does not know becomes words.
func decode(m *waE2E.Message, info inboundInfo) said {
	d := said{at: info.Time}
	switch {
	case info.members():
		d.Kind = channel.KindMembership
	case info.Unread != "":
		d.tell(info.Unread, unreadWords(info.Unread))
	default:
		d.read(m)
	}
	d.Choices = info.Choices
	if f := d.about.GetForwardedNewsletterMessageInfo(); f != nil {
		d.Author = cleanName(f.GetNewsletterName())
	}
	d.Text, d.Target = first(d.Text, maxInboundText), first(d.Target, maxQuotedID)
	return d
}

// tell fills in words for a message of a kind that has no other form.
func (d *said) tell(kind, words string) { d.Told, d.Text = kind, channel.NotShown(words) }

// note fills in words for what nobody has to answer, about the message with that key.
func (d *said) note(about *waCommon.MessageKey, words string) {
	d.Kind, d.Target, d.Text = channel.KindNote, about.GetID(), words
}

func (d *said) read(m *waE2E.Message) {
	inner, part := contentOf(m)
	if part == nil {
		if d.ignored = onlyKeys; len(inner.ProtoReflect().GetUnknown()) > 0 {
			d.ignored = ""
			d.tell("unknown", "a message of a kind that is newer than this program")
		}
		return
	}
	content := valueOf(inner, part)
	d.about = contextOf(content)
	if c, ok := content.(proto.Message); !ok {
		d.Text = inner.GetConversation()
	} else if !d.message(c) && !d.act(c) {
		d.other(part.Name(), c)
	}
	if d.Kind == channel.KindMessage {
		d.link(d.about.GetExternalAdReply().GetSourceURL())
	}
	d.Forwarded = d.about.GetIsForwarded() || m.GetBotForwardedMessage() != nil
	switch {
	case belongs(m) || belongs(inner):
		d.ignored = "belongs to a message that has come: another size of a picture, or a picture of a poll or event"
	case d.Text == "" && d.file == nil && d.Kind == channel.KindMessage && d.ignored == "":
		d.ignored = "without a word or a file"
	}
}

// belongs reports whether a message is a part of another one that says enough.
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

// message reads the kinds that a member says something by; false for others.
func (d *said) message(part proto.Message) bool {
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
		d.about = &waE2E.ContextInfo{StanzaID: proto.String(key.GetID()), Participant: proto.String(key.GetParticipant()), MentionedJID: d.about.GetMentionedJID()}
	default:
		return false
	}
	return true
}

// act reads what members do to messages and to the chat; false for others.
func (d *said) act(part proto.Message) bool {
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
		d.ignored = "names no message"
	}
	return true
}

// protocol reads edits, deletions and settings of a chat.
func (d *said) protocol(p *waE2E.ProtocolMessage) {
	switch p.GetType() {
	case waE2E.ProtocolMessage_REVOKE:
		d.Kind, d.Target = channel.KindDeletion, p.GetKey().GetID()
		if p.Type == nil && len(p.ProtoReflect().GetUnknown()) > 0 { // a type that the library does not know
			d.tell("protocolMessage", "a change of a kind that is newer than this program")
			d.Kind, d.Target = channel.KindNote, ""
		}
	case waE2E.ProtocolMessage_MESSAGE_EDIT:
		inner := said{at: d.at}
		inner.read(p.GetEditedMessage())
		d.Kind, d.Target, d.Text, d.about = channel.KindEdit, p.GetKey().GetID(), inner.Text, inner.about
		if inner.Text == "" && inner.file == nil {
			d.ignored = "an edit without content"
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
		d.ignored = "between an account's own devices, or with Meta's bots"
	}
}

func (d *said) event(e *waE2E.EventMessage) {
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

// other puts into words what is left, with the words and the file in it.
func (d *said) other(name protoreflect.Name, part proto.Message) {
	if d.ignored = ignored[name]; d.ignored != "" {
		return
	}
	if notes[name] != "" {
		d.note(nil, notes[name])
	} else if d.tell(string(name), cmp.Or(told[name], sealed[name], string(name))); sealed[name] != "" {
		d.Kind = channel.KindNote
	}
	d.collect(part)
}

// attach adds a file and its caption; false if the part is no file.
func (d *said) attach(part proto.Message) bool {
	file, info := downloadable(part, d.at)
	if file == nil {
		return false
	}
	d.file, d.Files = file, []channel.Attachment{{Info: info}}
	if c, ok := part.(interface{ GetCaption() string }); ok {
		d.line(c.GetCaption())
	}
	return true
}

func (d *said) locate(latitude, longitude float64, name, caption string) {
	d.Kind, d.Location = channel.KindLocation, place(latitude, longitude, name)
	d.Text = d.Location.String()
	d.line(caption)
}

func place(latitude, longitude float64, name string) *channel.Location {
	return &channel.Location{Latitude: latitude, Longitude: longitude, Name: first(strings.Join(strings.Fields(name), " "), maxInboundText)}
}

func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// line adds a line to the text.
func (d *said) line(s string) {
	if s != "" && d.Text != "" {
		d.Text += "\n"
	}
	d.Text += s
}

// link adds an address that the text does not show.
func (d *said) link(address string) {
	if !strings.Contains(d.Text, address) {
		d.line(address)
	}
}

func contact(c *waE2E.ContactMessage) string {
	return channel.CardText(c.GetDisplayName(), first(c.GetVcard(), maxInboundText))
}
