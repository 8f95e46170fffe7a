package whatsapp

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/media"
)

// phoneClient is what a phone code needs in place of a device's name: the
// server takes only names of browsers.
const phoneClient = "Chrome (Linux)"

// firstLogin is how long a fresh pairing may take to be logged in.
const firstLogin = time.Minute

// ErrPaired is returned by Pair where an account is linked already.
var ErrPaired = errors.New("whatsapp: an account is linked already: unlink it with `longshore unpair whatsapp` first")

// ErrNotPaired is returned where no account is linked.
var ErrNotPaired = errors.New("whatsapp: no account is linked: link one with `longshore pair whatsapp`")

// PairOptions say how to link an account.
type PairOptions struct {
	// Phone is the account's number with its country code. Where it is given,
	// OnCode is told a code to be typed into the phone; else OnQR is told what
	// the QR codes hold, one after another, each with the time for which it
	// counts. Both return at once.
	Phone  string
	OnQR   func(code string, timeout time.Duration)
	OnCode func(code string)
}

// Pair links an account. It returns when the phone has agreed and the device
// has logged in once, when the codes have run out (after less than three
// minutes), or with ctx. A Run that waits for an account goes on by itself.
func (w *WhatsApp) Pair(ctx context.Context, opts PairOptions) error {
	s, err := w.open(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if err := s.close(); err != nil {
			w.log.Error("close whatsapp store", "error", err)
		}
		w.tellPairing()
	}()
	if !s.self.IsEmpty() {
		return ErrPaired
	}
	w.askVersion(ctx)
	s.newClient()
	loggedIn, refused := make(chan struct{}, 1), make(chan stopped, 1)
	s.client.AddEventHandler(func(evt any) {
		if _, ok := evt.(*events.Connected); ok {
			poke(loggedIn)
		}
		if end, ok := permanent(evt); ok {
			select {
			case refused <- end:
			default:
			}
		}
	})
	ctx, cancel := s.until(ctx)
	defer cancel()
	items, err := s.client.GetQRChannel(ctx)
	if err != nil {
		return fmt.Errorf("whatsapp: pair: %w", err)
	}
	if err := s.client.ConnectContext(s.ctx); err != nil {
		return fmt.Errorf("whatsapp: connect to pair: %w", err)
	}
	if err := s.showCodes(ctx, items, opts); err != nil {
		return err
	}
	select {
	case <-loggedIn:
		return nil
	case end := <-refused:
		return fmt.Errorf("whatsapp: pair: %s: %s", end.message, end.hint)
	case <-time.After(firstLogin):
		return errors.New("whatsapp: pair: the phone agreed, but the device could not log in: start the host and look at `longshore status`")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// showCodes tells the codes until the phone has agreed.
func (s *session) showCodes(ctx context.Context, items <-chan whatsmeow.QRChannelItem, opts PairOptions) error {
	asked := false
	for item := range items {
		switch item.Event {
		case whatsmeow.QRChannelEventCode:
			if opts.Phone == "" {
				if opts.OnQR != nil {
					opts.OnQR(item.Code, item.Timeout)
				}
				continue
			}
			if asked {
				continue
			}
			asked = true
			code, err := s.client.PairPhone(ctx, opts.Phone, true, whatsmeow.PairClientChrome, phoneClient)
			if err != nil {
				return fmt.Errorf("whatsapp: ask for a phone code: %w", err)
			}
			if opts.OnCode != nil {
				opts.OnCode(code)
			}
		case whatsmeow.QRChannelSuccess.Event:
			return nil
		case whatsmeow.QRChannelTimeout.Event:
			return errors.New("whatsapp: pair: the codes have run out: try again")
		case whatsmeow.QRChannelClientOutdated.Event:
			return fmt.Errorf("whatsapp: pair: %s: %s", stopOutdated.message, stopOutdated.hint)
		case whatsmeow.QRChannelScannedWithoutMultidevice.Event:
			s.log.Warn("the phone's app is too old to link devices: update it and scan again")
		case whatsmeow.QRChannelEventError:
			return fmt.Errorf("whatsapp: pair: %w", item.Error)
		default:
			return fmt.Errorf("whatsapp: pair: whatsapp answered %q", item.Event)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return errors.New("whatsapp: pair: the connection was lost: try again")
}

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
	s, err := w.open(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if err := s.close(); err != nil {
			w.log.Error("close whatsapp store", "error", err)
		}
	}()
	if s.self.IsEmpty() {
		return ErrNotPaired
	}
	w.askVersion(ctx)
	s.newClient()
	up, refused := make(chan struct{}, 1), make(chan stopped, 1)
	s.client.AddEventHandlerWithSuccessStatus(func(evt any) bool {
		if _, ok := evt.(*events.Connected); ok {
			poke(up)
		}
		if end, ok := permanent(evt); ok {
			select {
			case refused <- end:
			default:
			}
		}
		// What comes in meanwhile is left to Run.
		_, message := evt.(*events.Message)
		_, receipt := evt.(*events.Receipt)
		return !message && !receipt
	})
	if err := s.client.ConnectContext(s.ctx); err != nil {
		return fmt.Errorf("whatsapp: connect: %w", err)
	}
	select {
	case <-up:
		return do(s)
	case end := <-refused:
		return fmt.Errorf("whatsapp: %s: %s", end.message, end.hint)
	case <-time.After(loginTime):
		return errors.New("whatsapp: the server did not welcome the device in time: try again")
	case <-ctx.Done():
		return ctx.Err()
	}
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
