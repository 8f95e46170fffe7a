package whatsapp

import (
	"cmp"
	"context"
	"time"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// Anybody can send a receipt, or ask for a message again, with any message's
// id. Who the device belongs to and through which chat it speaks is set by
// WhatsApp's server; whether it may speak of the message is decided here.

const (
	claimTime  = 10 * time.Second // for the question who is in a group, on behalf of a device
	claimPause = 30 * time.Second // after such a question without an answer, before the next one
)

// messageForRetry hands the library a message that a device could not decrypt
// if its own memory of 256 messages no longer has it. Whether the device gets
// the message is decided by again, which the library calls afterwards, also for
// messages from its memory.
func (s *session) messageForRetry(_, _ types.JID, id types.MessageID) *waE2E.Message {
	m, err := s.ledger.sent(s.gate.Context(), id)
	if err != nil {
		s.log.Error("look up a message that a device asks for again", "error", err)
	}
	if m == nil {
		return nil
	}
	return m.message
}

// again sends a message to a device that asks for it again, if that may have
// it. The library calls it in a goroutine for each request; false tells it to
// send nothing itself.
func (s *session) again(asks *events.Receipt, id types.MessageID, count int, _ *waE2E.Message) bool {
	ctx, leave, ok := s.gate.Enter(context.Background())
	if !ok {
		return false
	}
	defer leave()
	m, err := s.ledger.sent(ctx, id)
	if err != nil {
		s.log.Error("look up a message that a device asks for again", "error", err)
	}
	if m == nil || !s.chats.concern(ctx, m.Chat, asks.MessageSource) {
		s.log.Debug("a device asked for a message that is not for it", "message", harmless(id))
		return false
	}
	if err := s.sendAgain(ctx, asks, count, m); err != nil {
		s.log.Info("send a message to a device that asks for it again", "message", id, "error", err)
	}
	return false
}

// concern reports whether a device may speak of the messages of a chat: it
// speaks through that chat, and belongs to a person who is in it now, or to the
// account. A group that is not known is asked about, for claimTime at most.
func (c *chats) concern(ctx context.Context, chat groups.JID, src types.MessageSource) bool {
	to, err := types.ParseJID(string(chat))
	if err != nil {
		return false
	}
	sender := member{src.Sender.ToNonAD(), src.SenderAlt.ToNonAD()}
	switch {
	case to.Server == types.GroupServer:
		return src.Chat == to && c.inGroup(ctx, to, sender)
	case src.IsGroup:
		return false
	case c.people.isMe(sender.jid): // the account's phone, of what this device sent
		return c.people.same(ctx, member{jid: to}, member{src.Chat.ToNonAD(), src.RecipientAlt.ToNonAD()})
	}
	return c.people.same(ctx, member{jid: to}, sender)
}

// inGroup reports whether a person is in a group now.
func (c *chats) inGroup(ctx context.Context, group types.JID, who member) bool {
	present := c.present(ctx, group)
	who = c.people.both(ctx, who)
	return cmp.Or(present[who.jid], present[who.alt]) != channel.RoleUnknown
}

// present is who is in a group, by all their addresses; nil if WhatsApp does
// not say so in time. However many devices claim something, there is one
// question at a time about a group, one for each change of the group, and a
// pause after one without an answer.
func (c *chats) present(ctx context.Context, group types.JID) map[types.JID]channel.Role {
	ctx, cancel := context.WithTimeout(ctx, claimTime)
	defer cancel()
	leave, err := c.claims.Enter(ctx, group.String())
	if err != nil {
		return nil
	}
	defer leave()
	c.mu.Lock()
	_, known := c.known[group]
	wait := time.Until(c.unanswered[group].Add(claimPause))
	c.mu.Unlock()
	if !known && wait > 0 {
		return nil
	}
	facts, err := c.facts(ctx, group)
	if err != nil {
		c.log.Debug("ask who is in a group", "chat", group.String(), "error", err)
		c.mu.Lock()
		c.unanswered[group] = time.Now()
		c.mu.Unlock()
	}
	return facts.present
}
