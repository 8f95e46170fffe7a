package whatsapp

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// Bounds for messages that a modified app has made. The apps themselves write up
// to 65,536 characters, and a group has up to 1,024 members.
const (
	maxInboundText = 65536 // characters
	maxMentions    = 1024
	maxQuotedID    = 128 // characters; the apps' own ids have up to 32
)

// inbound converts a row of the journal for the Inbox.
func (s *session) inbound(ctx context.Context, m *inboundMessage) channel.Inbound {
	info := contextOf(m.message)
	who := m.writer()
	in := channel.Inbound{
		ID: m.ID, Chat: m.Chat, Time: m.info.Time, Role: s.chats.roleOf(ctx, m.info.Chat, who),
		From: s.people.nameOf(ctx, who, m.info.PushName), Sender: s.people.senderOf(ctx, who), Also: s.people.alsoOf(ctx, who),
	}
	if m.info.Chat.Server != types.GroupServer { // their own chat
		in.Role = channel.RoleAdmin
	}
	in.Kind, in.Target = actOf(m.message)
	in.Target = s.ourName(ctx, m.Chat, first(in.Target, maxQuotedID))
	switch {
	case m.info.members():
		in.Kind, in.Joined, in.Left = channel.KindMembership, s.persons(ctx, m.info.Joined), s.persons(ctx, m.info.Left)
		return in
	case in.Kind == channel.KindReaction:
		in.Emoji = channel.CleanName(m.message.GetReactionMessage().GetText())
		return in
	case in.Kind == channel.KindVote:
		in.Choices = m.info.Choices
		return in
	case in.Kind == channel.KindLocation:
		in.Location = locationOf(m.message.GetLocationMessage())
		in.Location.Name = first(in.Location.Name, maxInboundText)
	}
	var direct bool
	in.Text, direct = s.mentions(ctx, first(textOf(m.message), maxInboundText), info.GetMentionedJID())
	if in.Target != "" {
		return in
	}
	in.Direct, in.Forwarded = direct, info.GetIsForwarded()
	if info.GetStanzaID() != "" {
		var ours bool
		in.Quote, ours = s.quote(ctx, m.Chat, info)
		in.Direct = in.Direct || ours
	}
	in.Files = fileOf(m.message, m.info.Time, m.Ref())
	return in
}

// ourName returns the id of the Receipt if a member refers to a file of an album of ours,
// else the id as it is.
func (s *session) ourName(ctx context.Context, chat groups.JID, id string) string {
	if id == "" {
		return ""
	}
	m, err := s.ledger.sent(ctx, id)
	if err != nil {
		s.log.Error("look up what a member refers to", "chat", chat, "error", err)
	}
	if m == nil || m.Chat != chat {
		return id
	}
	return m.receiptID()
}

// fileOf is the file in a message, by the ref that Fetch knows; none if it has none.
func fileOf(m *waE2E.Message, at time.Time, ref string) []channel.Attachment {
	_, info := downloadable(m, at)
	if info.Kind == "" {
		return nil
	}
	return []channel.Attachment{{Info: info, Ref: ref}}
}

// persons converts addresses of members.
func (s *session) persons(ctx context.Context, addresses []types.JID) (all []channel.Person) {
	for _, j := range addresses {
		who := member{jid: j.ToNonAD()}
		all = append(all, channel.Person{Name: s.people.nameOf(ctx, who, ""), Sender: s.people.senderOf(ctx, who)})
	}
	return all
}

// mentions replaces the addresses that a text mentions by names, and reports
// whether the account is among them. It replaces all of them in one pass: a name
// that looks like a mention must not be replaced again, or a text could grow
// without bound.
func (s *session) mentions(ctx context.Context, text string, mentioned []string) (named string, self bool) {
	var names []string
	seen := map[string]bool{}
	for _, j := range mentioned[:min(len(mentioned), maxMentions)] {
		who, err := types.ParseJID(j)
		if err != nil || who.User == "" || seen[who.User] {
			continue
		}
		seen[who.User] = true
		if s.people.isMe(who.ToNonAD()) {
			self = true
		} else if at := "@" + who.User; strings.Contains(text, at) {
			names = append(names, at, "@"+s.people.nameOf(ctx, member{jid: who.ToNonAD()}, ""))
		}
	}
	return strings.NewReplacer(names...).Replace(text), self
}

// quote returns the message that a message answers, and whether it claims to be
// ours. The quoted content comes from the phone of the one who answers, and may be
// forged: only the ledger's record of that id and writer counts.
func (s *session) quote(ctx context.Context, chat groups.JID, info *waE2E.ContextInfo) (q *channel.Quote, ours bool) {
	q = &channel.Quote{ID: first(info.GetStanzaID(), maxQuotedID)}
	claimed, err := types.ParseJID(info.GetParticipant())
	if err != nil {
		claimed = types.EmptyJID
	}
	who := member{jid: claimed.ToNonAD()}
	ours = s.people.isMe(who.jid)
	if err := s.prove(ctx, chat, who, q); err != nil {
		s.log.Error("look up what a member's message answers; it is passed on as unverified", "chat", chat, "error", err)
	}
	if q.Unverified = !q.Own && q.Sender == ""; q.Unverified {
		q.Text = first(textOf(info.GetQuotedMessage()), maxInboundText)
		if !ours && who.jid.User != "" {
			q.From = s.people.nameOf(ctx, who, "")
		}
		q.Files = fileOf(info.GetQuotedMessage(), time.Now(), "") // which may be made up
	}
	return q, ours || q.Own
}

// prove fills a quote from the ledger. It changes nothing if the ledger does not
// have a message of that chat, id and writer. A message's id is chosen by its
// writer's phone, so the id alone proves nothing.
func (s *session) prove(ctx context.Context, chat groups.JID, who member, q *channel.Quote) error {
	if s.people.isMe(who.jid) {
		m, err := s.ledger.shown(ctx, q.ID)
		if err != nil || m == nil || m.Chat != chat {
			return err
		}
		q.ID, q.Own, q.Text = m.receiptID(), true, first(ownText(m.message), maxInboundText)
		q.From, q.Files = s.people.nameOf(ctx, who, ""), fileOf(m.message, m.Created, sentRef+m.ID)
		return nil
	}
	m, err := s.ledger.inboundBy(ctx, chat, q.ID, s.people.both(ctx, who))
	if err != nil || m == nil {
		return err
	}
	writer := m.writer()
	q.Text, q.Files = first(textOf(m.message), maxInboundText), fileOf(m.message, m.info.Time, m.Ref())
	q.From, q.Sender, q.Also = s.people.nameOf(ctx, writer, m.info.PushName), s.people.senderOf(ctx, writer), s.people.alsoOf(ctx, writer)
	return nil
}

// first truncates a text to so many characters. Bytes that are not valid UTF-8
// become U+FFFD: WhatsApp's format does not promise UTF-8.
func first(text string, characters int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= characters || utf8.RuneCountInString(text) <= characters {
		return text
	}
	return string([]rune(text)[:characters])
}
