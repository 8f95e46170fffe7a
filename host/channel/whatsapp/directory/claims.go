package directory

import (
	"cmp"
	"context"
	"time"

	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/outcome"
)

// Anybody can send a receipt with any message's id, or ask for that message
// again. WhatsApp's server sets whose device it is and through which chat it
// speaks; this file decides whether the device may refer to the message.

const (
	claimTime  = 10 * time.Second // bounds the question who is in a group, asked because of a device's claim
	claimPause = 30 * time.Second // after a question without an answer, before the next question
)

// MayReferTo reports whether a device may refer to the messages of a chat: the device
// speaks through that chat, and belongs to the account or to a member. If
// the members of a group are not cached, it asks WhatsApp, for at most claimTime.
func (c *Chats) MayReferTo(ctx context.Context, chat groups.JID, src types.MessageSource) bool {
	to, err := types.ParseJID(string(chat))
	if err != nil {
		return false
	}
	sender := Member{src.Sender.ToNonAD(), src.SenderAlt.ToNonAD()}
	switch {
	case to.Server == types.GroupServer:
		return src.Chat == to && c.inGroup(ctx, to, sender)
	case src.IsGroup:
		return false
	case c.people.IsMe(sender.JID): // the account's phone speaks of what this device sent
		return c.people.Same(ctx, Member{JID: to}, Member{src.Chat.ToNonAD(), src.RecipientAlt.ToNonAD()})
	}
	return c.people.Same(ctx, Member{JID: to}, sender)
}

// inGroup reports whether a person is a member of a group now.
func (c *Chats) inGroup(ctx context.Context, group types.JID, who Member) bool {
	role, err := c.Role(ctx, group, who)
	return err == nil && role != channel.RoleUnknown
}

// Role returns a person's role in a group, RoleUnknown for somebody who is no member of
// it. An error means that WhatsApp did not answer.
func (c *Chats) Role(ctx context.Context, group types.JID, who Member) (channel.Role, error) {
	present := c.members(ctx, group)
	if present == nil {
		return channel.RoleUnknown, outcome.NotReady(ctx, nil)
	}
	who = c.people.WithAlt(ctx, who)
	return cmp.Or(present[who.JID], present[who.Alt]), nil
}

// members returns a group's members by all their addresses, or nil if WhatsApp
// does not answer in time. However many devices make claims, there is one question
// at a time about a group, one per change of the group, and a pause of claimPause
// after a question without an answer.
func (c *Chats) members(ctx context.Context, group types.JID) map[types.JID]channel.Role {
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
	return facts.Members
}
