package whatsapp

import (
	"context"
	"strings"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/decode"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/directory"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/messages"
)

// maxMentions bounds the mentions of a message: a group has up to 1,024 members.
const maxMentions = 1024

// inbound converts a row of the journal for the Inbox.
func (s *session) inbound(ctx context.Context, m *messages.Inbound) channel.Inbound {
	d, who := decode.Message(m.Message, m.Meta), m.Writer()
	in := d.Inbound
	in.ID, in.Chat, in.Time, in.Role = m.ID, m.Chat, m.Meta.Time, s.chats.CachedRole(ctx, m.Meta.Chat, who)
	in.From, in.Sender, in.Also = s.people.Name(ctx, who, m.Meta.PushName), s.people.SenderID(ctx, who), s.people.OtherID(ctx, who)
	if m.Meta.Chat.Server != types.GroupServer { // their own chat
		in.Role = channel.RoleAdmin
	}
	in.Target = s.receiptIDOf(ctx, m.Chat, in.Target)
	in.Joined, in.Left = s.persons(ctx, m.Meta.Joined), s.persons(ctx, m.Meta.Left)
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

// receiptIDOf returns the id of the Receipt if a member refers to a file of an album of ours,
// else the id as it is.
func (s *session) receiptIDOf(ctx context.Context, chat groups.JID, id string) string {
	if id == "" {
		return ""
	}
	m, err := s.messages.FindSent(ctx, id)
	if err != nil {
		s.log.Error("look up what a member refers to", "chat", chat, "error", err)
	}
	if m == nil || m.Chat != chat {
		return id
	}
	return m.ReceiptID()
}

// persons converts addresses of members.
func (s *session) persons(ctx context.Context, addresses []types.JID) (all []channel.Person) {
	for _, j := range addresses {
		who := directory.Member{JID: j.ToNonAD()}
		all = append(all, channel.Person{Name: s.people.Name(ctx, who, ""), Sender: s.people.SenderID(ctx, who)})
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
		if s.people.IsMe(who.ToNonAD()) {
			self = true
		} else if at := "@" + who.User; strings.Contains(text, at) {
			names = append(names, at, "@"+s.people.Name(ctx, directory.Member{JID: who.ToNonAD()}, ""))
		}
	}
	return strings.NewReplacer(names...).Replace(text), self
}

// quote returns the message that m answers, and whether it claims to be
// ours. The quoted content comes from the phone of the one who answers, and may be
// forged: only the journal's record of that id and writer counts.
func (s *session) quote(ctx context.Context, m *messages.Inbound, info *waE2E.ContextInfo) (q *channel.Quote, ours bool) {
	q = &channel.Quote{ID: decode.First(info.GetStanzaID(), decode.MaxID), Elsewhere: ofOtherChat(info, m.Meta.Chat)}
	claimed, err := types.ParseJID(info.GetParticipant())
	if err != nil {
		claimed = types.EmptyJID
	}
	who := directory.Member{JID: claimed.ToNonAD()}
	ours = s.people.IsMe(who.JID)
	if !q.Elsewhere {
		if err := s.verifyQuote(ctx, m.Chat, who, q); err != nil {
			s.log.Error("look up what a member's message answers; it is passed on as unverified", "chat", m.Chat, "error", err)
		}
	}
	if q.Unverified = !q.Own && q.Sender == ""; q.Unverified {
		d := decode.Message(info.GetQuotedMessage(), decode.Meta{Time: m.Meta.Time})
		q.Text, q.Forwarded, q.Files = d.Text, d.Forwarded, d.WithRef(quotedRef+m.Ref())
		if !ours && who.JID.User != "" {
			q.From = s.people.Name(ctx, who, "")
		}
	}
	return q, ours || q.Own
}

// ofOtherChat reports whether a message answers one of another chat: of a group from which a
// member began to write to the account, or of a status. The chat with a person has two names.
func ofOtherChat(info *waE2E.ContextInfo, chat types.JID) bool {
	of, err := types.ParseJID(info.GetRemoteJID())
	return err == nil && of.User != "" && of != chat && of.Server != types.DefaultUserServer && of.Server != types.HiddenUserServer
}

// verifyQuote fills a quote from the journal. It changes nothing if the journal does not
// have a message of that chat, id and writer. A message's id is chosen by its
// writer's phone, so the id alone proves nothing.
func (s *session) verifyQuote(ctx context.Context, chat groups.JID, who directory.Member, q *channel.Quote) error {
	if s.people.IsMe(who.JID) {
		m, err := s.messages.Shown(ctx, q.ID)
		if err != nil || m == nil || m.Chat != chat {
			return err
		}
		d := decode.Message(m.Message, decode.Meta{Time: m.Created})
		q.ID, q.Own, q.Text = m.ReceiptID(), true, decode.First(decode.OwnText(m.Message), decode.MaxText)
		q.From, q.Files = s.people.Name(ctx, who, ""), d.WithRef(sentRef+m.ID)
		return nil
	}
	m, err := s.messages.FindInboundBy(ctx, chat, q.ID, s.people.WithAlt(ctx, who))
	if err != nil || m == nil {
		return err
	}
	writer, d := m.Writer(), decode.Message(m.Message, m.Meta)
	q.Text, q.Forwarded, q.Files = d.Text, d.Forwarded, d.WithRef(m.Ref())
	q.From, q.Sender, q.Also = s.people.Name(ctx, writer, m.Meta.PushName), s.people.SenderID(ctx, writer), s.people.OtherID(ctx, writer)
	return nil
}
