package whatsapp

import (
	"context"

	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/host/channel"
)

// member is a person's address, without a device, and the other one where a
// message brought it along: a number and a hidden id (LID), either first.
type member struct {
	jid, alt types.JID
}

// address is how a chat names the member: by hidden id or by number, if that
// is known, else by the other.
func (m member) address(hidden bool) string {
	if (m.jid.Server == types.HiddenUserServer) != hidden && m.alt.User != "" {
		return m.alt.String()
	}
	return m.jid.String()
}

// people is what the linked device knows of the account and of others: its own
// addresses, which address belongs to which, and the address book.
type people struct {
	device  *store.Device
	me, lid types.JID // the account's number, with the device, and its hidden id; empty while none is linked
}

func peopleOf(device *store.Device) people {
	return people{device: device, me: device.GetJID(), lid: device.GetLID()}
}

// isMe says whether an address is the account's own, whatever its device.
func (p *people) isMe(j types.JID) bool {
	return j.User != "" && (j.User == p.me.User && j.Server == p.me.Server || j.User == p.lid.User && j.Server == p.lid.Server)
}

// isAdmin says whether the account is this participant of a group, as an admin.
func (p *people) isAdmin(of types.GroupParticipant) bool {
	return of.IsAdmin && (p.isMe(of.JID) || p.isMe(of.PhoneNumber) || p.isMe(of.LID))
}

// both completes a member's addresses from what the device has learnt.
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

// senderOf is by what a member is known again, whether a chat addresses them by
// number or by hidden id. WhatsApp's server sets both; the member has no say in
// them. It changes once if the hidden id of a number becomes known later.
func (p *people) senderOf(ctx context.Context, who member) string {
	who = p.both(ctx, who)
	if who.alt.Server == types.HiddenUserServer {
		return who.alt.String()
	}
	return who.jid.String()
}

// nameOf is what a member is called: as the account's address book does, as
// they call themselves, or by number. The address book is first because only
// its owner writes it: push is what the member's own phone says.
func (p *people) nameOf(ctx context.Context, who member, push string) string {
	if p.isMe(who.jid) {
		if name := cleanName(p.device.PushName); name != "" {
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
		if name := cleanName(name); name != "" {
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

// cleanName is a name that a person chose, fit to be shown. Apps send "-" for
// one that was never chosen.
func cleanName(name string) string {
	if name = channel.CleanName(name); name == "-" {
		return ""
	}
	return name
}
