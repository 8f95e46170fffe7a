package whatsapp

import (
	"context"

	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/decode"
)

// member is a person's address without a device and, if the message had it, the
// person's other address: a number and a hidden id (LID), in either order.
type member struct {
	jid, alt types.JID
}

// address returns the hidden id or the number, as the chat addresses its members;
// the other address if that one is not known.
func (m member) address(hidden bool) string {
	if (m.jid.Server == types.HiddenUserServer) != hidden && m.alt.User != "" {
		return m.alt.String()
	}
	return m.jid.String()
}

// people is what the linked device knows about persons: the account's addresses,
// which number belongs to which hidden id, and the address book.
type people struct {
	device  *store.Device
	me, lid types.JID // the account's number, with the device, and its hidden id; empty while none is linked
}

func peopleOf(device *store.Device) people {
	return people{device: device, me: device.GetJID(), lid: device.GetLID()}
}

// isMe reports whether an address is the account's own, on any device.
func (p *people) isMe(j types.JID) bool {
	return j.User != "" && (j.User == p.me.User && j.Server == p.me.Server || j.User == p.lid.User && j.Server == p.lid.Server)
}

// isAdmin reports whether this participant of a group is the account, as an admin.
func (p *people) isAdmin(of types.GroupParticipant) bool {
	return of.IsAdmin && (p.isMe(of.JID) || p.isMe(of.PhoneNumber) || p.isMe(of.LID))
}

// both adds a member's other address if the device knows it.
func (p *people) both(ctx context.Context, who member) member {
	if who.alt.IsEmpty() {
		who.alt, _ = p.device.GetAltJID(ctx, who.jid)
	}
	return who
}

// same reports whether two members are one person, by either address.
func (p *people) same(ctx context.Context, a, b member) bool {
	a, b = p.both(ctx, a), p.both(ctx, b)
	for _, x := range []types.JID{a.jid, a.alt} {
		if x.User != "" && (x == b.jid || x == b.alt) {
			return true
		}
	}
	return false
}

// senderOf returns a member's stable id, whether a chat addresses the member by
// number or by hidden id. WhatsApp's server sets both; a member cannot choose them.
// The id changes once if a number's hidden id becomes known later.
func (p *people) senderOf(ctx context.Context, who member) string {
	who = p.both(ctx, who)
	if who.alt.Server == types.HiddenUserServer {
		return who.alt.String()
	}
	return who.jid.String()
}

// alsoOf returns the member's other id, beside senderOf; empty if it is not known.
func (p *people) alsoOf(ctx context.Context, who member) string {
	who = p.both(ctx, who)
	if who.alt.User == "" || who.jid.User == "" {
		return ""
	}
	if who.alt.Server == types.HiddenUserServer {
		return who.jid.String()
	}
	return who.alt.String()
}

// nameOf returns a member's name: the account's address book first, since only the
// account's owner writes it, then push, the name that the member's phone sends,
// else the number.
func (p *people) nameOf(ctx context.Context, who member, push string) string {
	if p.isMe(who.jid) {
		if name := decode.CleanName(p.device.PushName); name != "" {
			return name
		}
	}
	who = p.both(ctx, who)
	var given, own []string
	for _, j := range []types.JID{who.jid, who.alt} {
		if j.IsEmpty() {
			continue
		}
		if c, err := p.device.Contacts.GetContact(ctx, j); err == nil {
			given = append(given, c.FullName, c.FirstName)
			own = append(own, c.PushName, c.BusinessName)
		}
	}
	for _, name := range append(append(given, push), own...) {
		if name := decode.CleanName(name); name != "" {
			return name
		}
	}
	for _, j := range []types.JID{who.jid, who.alt} {
		if j.Server == types.DefaultUserServer && j.User != "" {
			return "+" + j.User
		}
	}
	return who.jid.User
}
