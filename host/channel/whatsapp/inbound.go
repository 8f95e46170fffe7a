package whatsapp

import (
	"context"
	"strings"
	"unicode/utf8"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// What is taken of a message that a modified app has made. The apps themselves
// write up to 65,536 characters, and a group has up to 1,024 members.
const (
	maxInboundText = 65536 // characters
	maxMentions    = 1024
)

// inbound makes of a row what the Inbox takes.
func (s *session) inbound(ctx context.Context, m *inboundMessage) channel.Inbound {
	about := contextOf(m.message)
	who := member{m.info.Sender.ToNonAD(), m.info.Alt.ToNonAD()}
	in := channel.Inbound{
		ID: m.id, Chat: m.chat, Time: m.info.Time,
		From: s.nameOf(ctx, who, m.info.PushName), Sender: s.senderOf(ctx, who),
	}
	in.Text, in.Direct = s.mentions(ctx, first(textOf(m.message), maxInboundText), about.GetMentionedJID())
	if about.GetStanzaID() != "" {
		var ours bool
		in.Quote, ours = s.quote(ctx, m.chat, about)
		in.Direct = in.Direct || ours
	}
	if msg, info := downloadable(m.message, m.info.Time); msg != nil {
		in.Files = []channel.Attachment{{Info: info, Open: s.opener(m, msg, info)}}
	}
	return in
}

// mentions writes names for the addresses that a text mentions, and says
// whether the account is among them. All are replaced in one go: a name that
// is itself written like a mention must not be replaced again, which would let
// a text grow without end.
func (s *session) mentions(ctx context.Context, text string, mentioned []string) (named string, self bool) {
	var names []string
	seen := map[string]bool{}
	for _, j := range mentioned[:min(len(mentioned), maxMentions)] {
		who, err := types.ParseJID(j)
		if err != nil || who.User == "" || seen[who.User] {
			continue
		}
		seen[who.User] = true
		if s.isSelf(who.ToNonAD()) {
			self = true
		} else if at := "@" + who.User; strings.Contains(text, at) {
			names = append(names, at, "@"+s.nameOf(ctx, member{jid: who.ToNonAD()}, ""))
		}
	}
	return strings.NewReplacer(names...).Replace(text), self
}

// quote is what a message answers, and whether that is said to be ours. What a
// message repeats of another one is made by its writer's phone, which may say
// anything: what counts is what the ledger has under that id and writer.
func (s *session) quote(ctx context.Context, chat groups.JID, about *waE2E.ContextInfo) (q *channel.Quote, ours bool) {
	q = &channel.Quote{ID: about.GetStanzaID()}
	claimed, err := types.ParseJID(about.GetParticipant())
	if err != nil {
		claimed = types.EmptyJID
	}
	who := member{jid: claimed.ToNonAD()}
	ours = s.isSelf(who.jid)
	if err := s.prove(ctx, chat, who, q); err != nil {
		s.log.Error("look up what a member's message answers; it is passed on as unverified", "chat", chat, "error", err)
	}
	if q.Unverified = !q.Own && q.Sender == ""; q.Unverified {
		q.Text = first(textOf(about.GetQuotedMessage()), maxInboundText)
		if !ours && who.jid.User != "" {
			q.From = s.nameOf(ctx, who, "")
		}
	}
	return q, ours || q.Own
}

// prove fills a quote from the ledger, and leaves it as it is where that does
// not have the message of that chat, id and writer. A message's id is chosen
// by its writer's phone, so the id alone says nothing.
func (s *session) prove(ctx context.Context, chat groups.JID, who member, q *channel.Quote) error {
	if s.isSelf(who.jid) {
		m, err := s.ledger.sent(ctx, q.ID)
		if err != nil || m == nil || m.chat != chat {
			return err
		}
		q.Own, q.Text = true, first(textOf(m.message), maxInboundText)
		q.From = s.nameOf(ctx, who, "")
		return nil
	}
	m, err := s.ledger.inboundBy(ctx, chat, q.ID, s.both(ctx, who))
	if err != nil || m == nil {
		return err
	}
	writer := member{m.info.Sender.ToNonAD(), m.info.Alt.ToNonAD()}
	q.Text = first(textOf(m.message), maxInboundText)
	q.From, q.Sender = s.nameOf(ctx, writer, m.info.PushName), s.senderOf(ctx, writer)
	return nil
}

// first cuts a text to so many characters.
func first(text string, characters int) string {
	if len(text) <= characters || utf8.RuneCountInString(text) <= characters {
		return text
	}
	return string([]rune(text)[:characters])
}
