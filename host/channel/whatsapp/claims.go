package whatsapp

import (
	"cmp"
	"context"
	"errors"
	"time"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// Anybody can send a receipt with any message's id, or ask for that message
// again. WhatsApp's server sets whose device it is and through which chat it
// speaks; this file decides whether the device may refer to the message.

const (
	claimTime  = 10 * time.Second // bounds the question who is in a group, asked because of a device's claim
	claimPause = 30 * time.Second // after a question without an answer, before the next question
)

// messageForRetry gives the library a message that a device could not decrypt, if
// the library's own cache of 256 messages no longer has it. Whether the device
// gets the message is decided by again, which the library calls afterwards, also
// for messages from its cache.
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

// again sends a message once more to a device that asks for it, if the device may
// have the message. The library calls again in one goroutine per request. again
// returns false, so that the library sends nothing by itself.
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

// concern reports whether a device may refer to the messages of a chat: the device
// speaks through that chat, and belongs to the account or to a present member. If
// the members of a group are not cached, concern asks, for at most claimTime.
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
	case c.people.isMe(sender.jid): // the account's phone speaks of what this device sent
		return c.people.same(ctx, member{jid: to}, member{src.Chat.ToNonAD(), src.RecipientAlt.ToNonAD()})
	}
	return c.people.same(ctx, member{jid: to}, sender)
}

// inGroup reports whether a person is a member of a group now.
func (c *chats) inGroup(ctx context.Context, group types.JID, who member) bool {
	present := c.present(ctx, group)
	who = c.people.both(ctx, who)
	return cmp.Or(present[who.jid], present[who.alt]) != channel.RoleUnknown
}

// present returns a group's members by all their addresses, or nil if WhatsApp
// does not answer in time. However many devices make claims, there is one question
// at a time about a group, one per change of the group, and a pause of claimPause
// after a question without an answer.
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

var _ channel.Roles = (*WhatsApp)(nil)

// RoleOf implements channel.Roles.
func (w *WhatsApp) RoleOf(ctx context.Context, chat groups.JID, sender string) (channel.Role, error) {
	s := w.live.Load()
	group, err := types.ParseJID(string(chat))
	who, bad := types.ParseJID(sender)
	if s == nil || err != nil || bad != nil {
		return channel.RoleUnknown, notConnected(errors.Join(err, bad))
	}
	ctx, leave, ok := s.gate.Enter(ctx)
	if !ok {
		return channel.RoleUnknown, notConnected(nil)
	}
	defer leave()
	present := s.chats.present(ctx, group)
	if present == nil {
		return channel.RoleUnknown, passing("whatsapp_not_ready", "WhatsApp did not answer a question about the chat", nil)
	}
	known := s.people.both(ctx, member{jid: who})
	return cmp.Or(present[known.jid], present[known.alt]), nil
}
