package whatsapp

import (
	"context"
	"strings"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/decode"
)

// maxMentions bounds the mentions of a message: a group has up to 1,024 members.
const maxMentions = 1024

// inbound converts a row of the journal for the Inbox.
func (s *session) inbound(ctx context.Context, m *inboundMessage) channel.Inbound {
	d, who := decode.Message(m.message, m.info), m.writer()
	in := d.Inbound
	in.ID, in.Chat, in.Time, in.Role = m.ID, m.Chat, m.info.Time, s.chats.roleOf(ctx, m.info.Chat, who)
	in.From, in.Sender, in.Also = s.people.nameOf(ctx, who, m.info.PushName), s.people.senderOf(ctx, who), s.people.alsoOf(ctx, who)
	if m.info.Chat.Server != types.GroupServer { // their own chat
		in.Role = channel.RoleAdmin
	}
	in.Target = s.ourName(ctx, m.Chat, in.Target)
	in.Joined, in.Left = s.persons(ctx, m.info.Joined), s.persons(ctx, m.info.Left)
	var direct bool
	in.Text, direct = s.mentions(ctx, in.Text, d.Context.GetMentionedJID())
	in.Files = d.WithRef(m.Ref())
	if !in.Kind.IsMessage() {
		return in
	}
	in.Direct = direct
	if d.Context.GetStanzaID() != "" {
		var ours bool
		in.Quote, ours = s.quote(ctx, m, d.Context)
		in.Direct = in.Direct || ours
	}
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

// quote returns the message that m answers, and whether it claims to be
// ours. The quoted content comes from the phone of the one who answers, and may be
// forged: only the ledger's record of that id and writer counts.
func (s *session) quote(ctx context.Context, m *inboundMessage, info *waE2E.ContextInfo) (q *channel.Quote, ours bool) {
	q = &channel.Quote{ID: decode.First(info.GetStanzaID(), decode.MaxID), Elsewhere: elsewhere(info, m.info.Chat)}
	claimed, err := types.ParseJID(info.GetParticipant())
	if err != nil {
		claimed = types.EmptyJID
	}
	who := member{jid: claimed.ToNonAD()}
	ours = s.people.isMe(who.jid)
	if !q.Elsewhere {
		if err := s.prove(ctx, m.Chat, who, q); err != nil {
			s.log.Error("look up what a member's message answers; it is passed on as unverified", "chat", m.Chat, "error", err)
		}
	}
	if q.Unverified = !q.Own && q.Sender == ""; q.Unverified {
		d := decode.Message(info.GetQuotedMessage(), decode.Meta{Time: m.info.Time})
		q.Text, q.Forwarded, q.Files = d.Text, d.Forwarded, d.WithRef(quotedRef+m.Ref())
		if !ours && who.jid.User != "" {
			q.From = s.people.nameOf(ctx, who, "")
		}
	}
	return q, ours || q.Own
}

// elsewhere reports whether a message answers one of another chat: of a group, by which a
// member began to write to the account, or of a status. The chat with a person has two names.
func elsewhere(info *waE2E.ContextInfo, chat types.JID) bool {
	of, err := types.ParseJID(info.GetRemoteJID())
	return err == nil && of.User != "" && of != chat && of.Server != types.DefaultUserServer && of.Server != types.HiddenUserServer
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
		d := decode.Message(m.message, decode.Meta{Time: m.Created})
		q.ID, q.Own, q.Text = m.receiptID(), true, decode.First(decode.OwnText(m.message), decode.MaxText)
		q.From, q.Files = s.people.nameOf(ctx, who, ""), d.WithRef(sentRef+m.ID)
		return nil
	}
	m, err := s.ledger.inboundBy(ctx, chat, q.ID, s.people.both(ctx, who))
	if err != nil || m == nil {
		return err
	}
	writer, d := m.writer(), decode.Message(m.message, m.info)
	q.Text, q.Forwarded, q.Files = d.Text, d.Forwarded, d.WithRef(m.Ref())
	q.From, q.Sender, q.Also = s.people.nameOf(ctx, writer, m.info.PushName), s.people.senderOf(ctx, writer), s.people.alsoOf(ctx, writer)
	return nil
}
