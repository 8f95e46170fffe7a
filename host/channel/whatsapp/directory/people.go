// Package directory answers who is in a chat and who a person is: the chats' members and
// settings, asked of WhatsApp and cached, and the account's address book.
package directory

import (
	"context"
	"slices"

	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/decode"
)

// Member is a person's address without a device and, if the message had it, the
// person's other address: a number and a hidden id (LID), in either order.
type Member struct {
	JID, Alt types.JID
}

// NewMember returns the person with these addresses. other may be empty.
func NewMember(address, other types.JID) Member { return Member{address.ToNonAD(), other.ToNonAD()} }

// Address returns the hidden id or the number, as the chat addresses its members;
// the other address if that one is not known.
func (m Member) Address(hidden bool) string {
	if (m.JID.Server == types.HiddenUserServer) != hidden && m.Alt.User != "" {
		return m.Alt.String()
	}
	return m.JID.String()
}

// People has what the linked device knows about persons: the account's addresses,
// which number belongs to which hidden id, and the address book.
type People struct {
	Device  *store.Device
	Me, LID types.JID // the account's number, with the device, and its hidden id; empty while none is linked
}

// NewPeople reads the account's addresses.
func NewPeople(device *store.Device) People {
	return People{Device: device, Me: device.GetJID(), LID: device.GetLID()}
}

// IsMe reports whether an address is the account's own, on any device.
func (p *People) IsMe(j types.JID) bool {
	return j.User != "" && (j.User == p.Me.User && j.Server == p.Me.Server || j.User == p.LID.User && j.Server == p.LID.Server)
}

// IsOwnAdmin reports whether this participant of a group is the account, as an admin.
func (p *People) IsOwnAdmin(of types.GroupParticipant) bool {
	return of.IsAdmin && (p.IsMe(of.JID) || p.IsMe(of.PhoneNumber) || p.IsMe(of.LID))
}

// WithAlt adds a member's other address if the device knows it.
func (p *People) WithAlt(ctx context.Context, who Member) Member {
	if who.Alt.IsEmpty() {
		who.Alt, _ = p.Device.GetAltJID(ctx, who.JID)
	}
	return who
}

// Same reports whether two members are one person, by either address.
func (p *People) Same(ctx context.Context, a, b Member) bool {
	a, b = p.WithAlt(ctx, a), p.WithAlt(ctx, b)
	return slices.ContainsFunc([]types.JID{a.JID, a.Alt}, func(x types.JID) bool { return x.User != "" && (x == b.JID || x == b.Alt) })
}

// SenderID returns a member's stable id, whether a chat addresses the member by
// number or by hidden id. WhatsApp's server sets both; a member cannot choose them.
// The id changes once if a number's hidden id becomes known later.
func (p *People) SenderID(ctx context.Context, who Member) string {
	who = p.WithAlt(ctx, who)
	if who.Alt.Server == types.HiddenUserServer {
		return who.Alt.String()
	}
	return who.JID.String()
}

// OtherID returns the member's other id, beside SenderID, empty if it is not known.
func (p *People) OtherID(ctx context.Context, who Member) string {
	who = p.WithAlt(ctx, who)
	if who.Alt.User == "" || who.JID.User == "" {
		return ""
	}
	if who.Alt.Server == types.HiddenUserServer {
		return who.JID.String()
	}
	return who.Alt.String()
}

// Name returns a member's name: the account's address book first, since only the
// account's owner writes it, then push, the name that the member's phone sends,
// else the number.
func (p *People) Name(ctx context.Context, who Member, push string) string {
	if p.IsMe(who.JID) {
		if name := decode.CleanName(p.Device.PushName); name != "" {
			return name
		}
	}
	who = p.WithAlt(ctx, who)
	var given, own []string
	for _, j := range []types.JID{who.JID, who.Alt} {
		if j.IsEmpty() {
			continue
		}
		if c, err := p.Device.Contacts.GetContact(ctx, j); err == nil {
			given = append(given, c.FullName, c.FirstName)
			own = append(own, c.PushName, c.BusinessName)
		}
	}
	for _, name := range append(append(given, push), own...) {
		if name := decode.CleanName(name); name != "" {
			return name
		}
	}
	for _, j := range []types.JID{who.JID, who.Alt} {
		if j.Server == types.DefaultUserServer && j.User != "" {
			return "+" + j.User
		}
	}
	return who.JID.User
}
