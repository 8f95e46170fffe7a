package turns

import (
	"context"
	"fmt"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/inbound"
)

// What a member without a right is told, once.
var refusals = map[groups.Right]string{
	groups.MaySpeak: "The assistant of this chat does not read your messages. The operator can allow it.",
	groups.MayStop:  "You may not stop the assistant in this chat. The operator can allow it.",
	groups.MayNew:   "Only admins of this chat may begin a new conversation. The operator can allow it to others.",
}

// admit checks what a member did before anything else. It reports whether the assistant
// may have it: not if the member may not speak, and not if it is an order to the host,
// which admit carries out. After an error the channel delivers the message again.
func (m *Manager) admit(ctx context.Context, c *chat, g groups.Group, in *channel.Inbound) (bool, error) {
	w, more := wordOf(in, g.Trigger)
	right := w.right()
	ok, err := m.may(ctx, g, right, in)
	if err != nil {
		return false, err
	}
	at := newConversation(c, m.threadOf(g, in))
	switch {
	case !ok:
		if speaks, err := m.may(ctx, g, groups.MaySpeak, in); err != nil || !speaks {
			right = groups.MaySpeak // which is all that is said
		}
		if right == groups.MaySpeak {
			m.ignore(c, Ignored{NotAllowed: 1})
		}
		if !isEvent(in.Kind) && (w != "" || starts(g, in)) {
			m.refuse(ctx, at, in, right)
		}
		return false, nil
	case w == "":
		return true, m.hideQuote(ctx, g, in)
	}
	return false, m.obey(ctx, at, g, in, w, more)
}

// threadOf returns the thread to which a message of a group belongs.
func (m *Manager) threadOf(g groups.Group, in *channel.Inbound) string {
	if m.threads(g) == 0 {
		return ""
	}
	return in.Thread
}

// may reports whether a member has a right. It asks the platform for admins only if that
// decides and the channel did not say.
func (m *Manager) may(ctx context.Context, g groups.Group, r groups.Right, in *channel.Inbound) (bool, error) {
	who := g.Members.Of(r)
	ok := who.Has(in.Role == channel.RoleAdmin, in.Sender, in.Also)
	if ok || !who.Admins() || in.Role != channel.RoleUnknown || in.Sender == "" {
		return ok, nil
	}
	role, err := m.o.Platforms.RoleOf(ctx, g.Address(), in.Sender)
	if err != nil {
		return false, fmt.Errorf("ask who is an admin: %w", err)
	}
	return role == channel.RoleAdmin, nil
}

// hideQuote removes the words of a member who may not speak from another member's quote.
func (m *Manager) hideQuote(ctx context.Context, g groups.Group, in *channel.Inbound) error {
	q := in.Quote
	if q == nil || q.Own || q.Sender == "" {
		return nil
	}
	ok, err := m.may(ctx, g, groups.MaySpeak, &channel.Inbound{Sender: q.Sender, Also: q.Also})
	if err == nil && !ok {
		in.Quote = &channel.Quote{ID: q.ID, Unverified: true}
	}
	return err
}

// refuse tells a member what they may not do, once for each right.
func (m *Manager) refuse(ctx context.Context, at *conversation, in *channel.Inbound, r groups.Right) {
	who := at.store.SenderID(in.Sender)
	m.o.Log.Info("a member may not do this", "group", at.group.Folder, "right", string(r), "member", who)
	if at.store.WasRefused(string(r)+" "+who) || !at.answers.allow(who) {
		return
	}
	if err := at.store.Refused(string(r) + " " + who); err != nil {
		m.o.Log.Error("a refusal not noted", "group", at.group.Folder, "error", err)
		return
	}
	m.answer(ctx, at, refusals[r], inbound.Key("refused", string(r), who))
}
