package whatsapp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/device"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/directory"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/outcome"
	"github.com/longshore-bridge/longshore/media"
)

// Unpair removes this device from the account, and its keys and messages from
// the store. It works beside a Run of the same WhatsApp, and without one.
func (w *WhatsApp) Unpair(ctx context.Context) error {
	err := w.withLogin(ctx, func(s *session) error {
		if s.messages.Journal != nil {
			if err := s.messages.Note(ctx, unlinking, s.people.Me.String()); err != nil {
				return fmt.Errorf("whatsapp: %w", err)
			}
		}
		if err := s.client.Logout(ctx); err != nil {
			return fmt.Errorf("whatsapp: unlink: %w", err)
		}
		if s.messages.Journal != nil {
			if err := s.messages.Clear(ctx); err != nil {
				return fmt.Errorf("whatsapp: %w", err)
			}
		}
		s.stop(withDetail(stopNotPaired, ""))
		return nil
	})
	w.link.Retry()
	return err
}

// unlinking is the key of a fact: the messages of this account go with it.
const unlinking = "unlinking"

// endUnlinking deletes the messages of an account that was unlinked before a crash.
func (s *session) endUnlinking(ctx context.Context) error {
	account, err := s.messages.Noted(ctx, unlinking)
	switch {
	case err != nil || account == "":
		return err
	case account == s.people.Me.String(): // it is linked still
		return s.messages.Unnote(ctx, unlinking)
	}
	return s.messages.Clear(ctx)
}

// Paired returns the linked account: its number with the number of the device,
// for example 4915100000000:3@s.whatsapp.net. ok is false without an account.
func (w *WhatsApp) Paired() (jid string, ok bool) {
	if s := w.live.Load(); s != nil {
		return s.people.Me.String(), true
	}
	return device.Account(context.Background(), w.spec())
}

// Chats asks WhatsApp for the account's groups, sorted by name. It uses Run's
// connection, or makes one for the moment.
func (w *WhatsApp) Chats(ctx context.Context) (all []channel.Chat, err error) {
	err = w.withLogin(ctx, func(s *session) error {
		joined, err := s.client.GetJoinedGroups(ctx)
		if err != nil {
			return fmt.Errorf("whatsapp: list groups: %w", err)
		}
		for _, g := range joined {
			c := channel.Chat{JID: groups.JID(g.JID.String()), Name: media.Printable(g.Name), Members: len(g.Participants)}
			if g.IsAnnounce && !slices.ContainsFunc(g.Participants, s.people.IsOwnAdmin) {
				c.Note = "only admins may write; the account is none"
			}
			all = append(all, c)
		}
		return nil
	})
	slices.SortFunc(all, func(a, b channel.Chat) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), strings.Compare(string(a.JID), string(b.JID)))
	})
	return all, err
}

// withLogin calls do with a session that is logged in: the session of Run or, if
// Run is not running, a session made for this call.
func (w *WhatsApp) withLogin(ctx context.Context, do func(*session) error) error {
	if s, _, leave, ok := w.enter(ctx); ok {
		defer leave()
		if err := s.waitConnected(ctx); err != nil {
			return fmt.Errorf("whatsapp: %w", err)
		}
		return do(s)
	}
	return w.withSession(ctx, func(s *session) error {
		if s.people.Me.IsEmpty() {
			return fmt.Errorf("%w: link one with `%s`", ErrNotPaired, w.pairCommand())
		}
		w.version.Ask(ctx)
		s.newClient()
		login := newLogin()
		s.client.AddEventHandlerWithSuccessStatus(func(evt any) bool {
			login.note(evt)
			// Messages that arrive meanwhile are left to Run: they are not acknowledged.
			_, message := evt.(*events.Message)
			_, receipt := evt.(*events.Receipt)
			return !message && !receipt
		})
		if err := s.client.ConnectContext(s.gate.Context()); err != nil {
			return fmt.Errorf("whatsapp: connect: %w", err)
		}
		if err := login.wait(ctx, loginTime, "the server did not welcome the device in time: try again"); err != nil {
			return fmt.Errorf("whatsapp: %w", err)
		}
		return do(s)
	})
}

// RoleOf implements channel.Roles.
func (w *WhatsApp) RoleOf(ctx context.Context, chat groups.JID, sender string) (channel.Role, error) {
	s := w.live.Load()
	group, err := types.ParseJID(string(chat))
	who, bad := types.ParseJID(sender)
	if s == nil || err != nil || bad != nil {
		return channel.RoleUnknown, outcome.NotConnected(errors.Join(err, bad))
	}
	ctx, leave, ok := s.gate.Enter(ctx)
	if !ok {
		return channel.RoleUnknown, outcome.NotConnected(nil)
	}
	defer leave()
	return s.chats.Role(ctx, group, directory.Member{JID: who})
}
