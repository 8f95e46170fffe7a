package whatsapp

import (
	"context"

	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/host/channel"
)

// member is a person's address, without a device, and the other one where a
// message brought it along: a number and a hidden id (LID), either first.
type member struct {
	jid, alt types.JID
}

// both completes a member's addresses from what the device has learnt.
func (s *session) both(ctx context.Context, who member) member {
	if who.alt.IsEmpty() {
		who.alt, _ = s.device.GetAltJID(ctx, who.jid)
	}
	return who
}

// senderOf is by what a member is known again, whether a chat addresses them by
// number or by hidden id. WhatsApp's server sets both; the member has no say in
// them. It changes once where the hidden id of a number becomes known later.
func (s *session) senderOf(ctx context.Context, who member) string {
	who = s.both(ctx, who)
	if who.alt.Server == types.HiddenUserServer {
		return who.alt.String()
	}
	return who.jid.String()
}

// nameOf is what a member is called: as the account's address book does, as
// they call themselves, or by number. The address book is first because only
// its owner writes it: push is what the member's own phone says.
func (s *session) nameOf(ctx context.Context, who member, push string) string {
	if s.isSelf(who.jid) {
		if name := cleanName(s.device.PushName); name != "" {
			return name
		}
	}
	who = s.both(ctx, who)
	var given, own []string
	for _, j := range []types.JID{who.jid, who.alt} {
		if j.IsEmpty() {
			continue
		}
		if c, err := s.device.Contacts.GetContact(ctx, j); err == nil {
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
