package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"go.mau.fi/whatsmeow"

	"github.com/longshore-bridge/longshore/media"
)

// phoneClient is what a phone code needs in place of a device's name: the
// server takes only names of browsers.
const phoneClient = "Chrome (Linux)"

// firstLogin is how long a fresh pairing may take to be logged in.
const firstLogin = time.Minute

// ErrPaired is returned by Pair if an account is linked already.
var ErrPaired = errors.New("whatsapp: an account is linked already")

// ErrNotPaired is returned if no account is linked.
var ErrNotPaired = errors.New("whatsapp: no account is linked")

// phoneNumber is the form of a number from which the library makes an account.
var phoneNumber = regexp.MustCompile(`^\+?[1-9][0-9 ()./-]{6,30}$`)

// PairOptions say how to link an account.
type PairOptions struct {
	// Phone is the account's number with its country code. If it is set, a code is
	// typed into the phone, else QR codes are scanned.
	Phone string
	Show  Codes
}

// Codes shows the codes of a pairing. Its methods return at once.
type Codes interface {
	ShowQR(code string, valid time.Duration) // the content of a QR code, which replaces the one before
	ShowCode(code string)                    // to be typed into the phone
}

// Pair links an account. It returns when the phone has agreed and the device
// has logged in once, when the codes have expired (after less than three
// minutes), or when ctx is done. A Run that waits for an account then connects.
func (w *WhatsApp) Pair(ctx context.Context, opts PairOptions) error {
	if opts.Phone != "" && !phoneNumber.MatchString(opts.Phone) {
		return fmt.Errorf("whatsapp: %q is no phone number: write it with its country code and without a leading 0, such as +4915112345678", media.Cut(media.Printable(opts.Phone), 40))
	}
	err := w.withSession(ctx, func(s *session) error { return w.pair(ctx, s, opts) })
	w.link.Retry()
	return err
}

func (w *WhatsApp) pair(ctx context.Context, s *session, opts PairOptions) error {
	if !s.people.Me.IsEmpty() {
		return ErrPaired
	}
	w.version.Ask(ctx)
	s.newClient()
	login := newLogin()
	s.client.AddEventHandler(login.note)
	ctx, leave, _ := s.gate.Enter(ctx) // nobody else closes it
	defer leave()
	items, err := s.client.GetQRChannel(ctx)
	if err != nil {
		return fmt.Errorf("whatsapp: pair: %w", err)
	}
	if err := s.client.ConnectContext(s.gate.Context()); err != nil {
		return fmt.Errorf("whatsapp: connect to pair: %w", err)
	}
	if err := s.showCodes(ctx, items, opts); err != nil {
		return err
	}
	if err := login.wait(ctx, firstLogin, "the phone agreed, but the device could not log in: start the host and look at `longshore status`"); err != nil {
		return fmt.Errorf("whatsapp: pair: %w", err)
	}
	return nil
}

// showCodes reports each code until the phone has agreed, or the server has
// answered with something else, which login handles.
func (s *session) showCodes(ctx context.Context, items <-chan whatsmeow.QRChannelItem, opts PairOptions) error {
	asked := false
	for item := range items {
		switch item.Event {
		case whatsmeow.QRChannelEventCode:
			if opts.Phone == "" {
				opts.Show.ShowQR(item.Code, item.Timeout)
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
			opts.Show.ShowCode(code)
		case whatsmeow.QRChannelSuccess.Event:
			return nil
		case whatsmeow.QRChannelErrUnexpectedEvent.Event: // the server's answer to a login, which may come first
			return nil
		case whatsmeow.QRChannelTimeout.Event:
			return errors.New("whatsapp: pair: the codes have run out: try again")
		case whatsmeow.QRChannelClientOutdated.Event:
			return fmt.Errorf("whatsapp: pair: %s: %s", stopOutdated.Message, stopOutdated.Hint)
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
