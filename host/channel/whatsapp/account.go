package whatsapp

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/media"
)

// Unpair removes this device from the account, and its keys and messages from
// the store. It works beside a Run of the same WhatsApp, and without one.
func (w *WhatsApp) Unpair(ctx context.Context) error {
	err := w.online(ctx, func(s *session) error {
		if err := s.client.Logout(ctx); err != nil {
			return fmt.Errorf("whatsapp: unlink: %w", err)
		}
		if _, err := s.ledger.db.ExecContext(ctx, `DELETE FROM sent; DELETE FROM inbound;`); err != nil {
			return fmt.Errorf("whatsapp: forget messages: %w", err)
		}
		select {
		case s.stops <- stopped{stop: stopNotPaired}:
		default:
		}
		return nil
	})
	w.tellPairing()
	return err
}

// Paired says which account is linked, by its number with the device's, as in
// 4915100000000:3@s.whatsapp.net.
func (w *WhatsApp) Paired() (jid string, ok bool) {
	if s := w.session(); s != nil && s.enter() {
		defer s.leave()
		return s.self.String(), true
	}
	return w.pairedOnDisk(context.Background())
}

// GroupInfo is a group that the account is a member of.
type GroupInfo struct {
	JID        groups.JID
	Name       string // as its admins call it; fit to be shown
	Members    int
	AdminsOnly bool // the account may not write there
}

// JoinedGroups asks WhatsApp for the account's groups, sorted by name. It uses
// Run's connection, or makes one for the moment.
func (w *WhatsApp) JoinedGroups(ctx context.Context) ([]GroupInfo, error) {
	var all []GroupInfo
	err := w.online(ctx, func(s *session) error {
		joined, err := s.client.GetJoinedGroups(ctx)
		if err != nil {
			return fmt.Errorf("whatsapp: list groups: %w", err)
		}
		for _, g := range joined {
			info := GroupInfo{JID: groups.JID(g.JID.String()), Name: media.Printable(g.Name), Members: len(g.Participants), AdminsOnly: g.IsAnnounce}
			for _, p := range g.Participants {
				if p.IsAdmin && (s.isSelf(p.JID) || s.isSelf(p.PhoneNumber) || s.isSelf(p.LID)) {
					info.AdminsOnly = false
				}
			}
			all = append(all, info)
		}
		return nil
	})
	slices.SortFunc(all, func(a, b GroupInfo) int {
		if c := strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)); c != 0 {
			return c
		}
		return strings.Compare(string(a.JID), string(b.JID))
	})
	return all, err
}

// online calls do with a session that is logged in: Run's, or one of its own.
func (w *WhatsApp) online(ctx context.Context, do func(*session) error) error {
	if s := w.session(); s != nil && s.enter() {
		defer s.leave()
		if err := s.waitConnected(ctx); err != nil {
			return fmt.Errorf("whatsapp: %w", err)
		}
		return do(s)
	}
	return w.alone(ctx, func(s *session) error {
		if s.self.IsEmpty() {
			return ErrNotPaired
		}
		w.askVersion(ctx)
		s.newClient()
		login := newLogin()
		s.client.AddEventHandlerWithSuccessStatus(func(evt any) bool {
			login.note(evt)
			// What comes in meanwhile is left to Run.
			_, message := evt.(*events.Message)
			_, receipt := evt.(*events.Receipt)
			return !message && !receipt
		})
		if err := s.client.ConnectContext(s.ctx); err != nil {
			return fmt.Errorf("whatsapp: connect: %w", err)
		}
		if err := login.wait(ctx, loginTime, "the server did not welcome the device in time: try again"); err != nil {
			return fmt.Errorf("whatsapp: %w", err)
		}
		return do(s)
	})
}

// pairedOnDisk looks into the store without being the device.
func (w *WhatsApp) pairedOnDisk(ctx context.Context) (jid string, ok bool) {
	path := filepath.Join(w.opts.Dir, "whatsapp.db")
	if _, err := os.Stat(path); err != nil {
		return "", false
	}
	db, err := sql.Open("sqlite", "file:"+path+"?mode=rw&_pragma=busy_timeout(5000)")
	if err != nil {
		return "", false
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, `SELECT jid FROM whatsmeow_device LIMIT 1`).Scan(&jid)
	return jid, err == nil && jid != ""
}
