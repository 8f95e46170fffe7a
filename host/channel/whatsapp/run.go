package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/link"
	stores "github.com/longshore-bridge/longshore/host/store"
)

const (
	loginTime  = time.Minute      // from connecting to the login, outside Run
	watchEvery = 15 * time.Second // how often the connection is checked
	warmTime   = time.Minute

	// In a cluster the other program is mostly the owner before or after this host: connect asks who owns. One
	// that replaces the owner again within this time is none of the cluster's hosts.
	replacedAgain = 10 * time.Minute
)

// Run keeps the account's device connected until ctx is done. It reconnects by
// itself after temporary faults. After a lasting one (no account linked, logged
// out, replaced by another process, outdated, banned) every Send fails as held,
// and Connected names the fault. Run does not return then: it connects again when
// Pair, also in another process, has linked an account. It returns an error only
// if a store cannot be opened or closed.
func (w *WhatsApp) Run(ctx context.Context, in channel.Inbox) error {
	return w.link.Run(ctx, func(ctx context.Context) error { return w.withRemedy(w.runSession(ctx, in)) })
}

// runSession runs one session, from opening the stores to the reason for its end.
func (w *WhatsApp) runSession(ctx context.Context, in channel.Inbox) (err error) {
	s, err := w.open(ctx)
	if errors.Is(err, stores.ErrLocked) {
		return withDetail(stopLocked, "")
	}
	if err != nil {
		return err
	}
	defer func() {
		w.live.Store(nil)
		if closing := s.close(); closing != nil { // counts more than a stop: no session can use such a store
			err = fmt.Errorf("whatsapp: close the store: %w", closing)
		}
	}()
	if s.people.Me.IsEmpty() {
		return withDetail(w.unlinked, "")
	}
	w.unlinked = stopNotPaired
	w.version.Ask(ctx)
	s.newClient()
	s.client.AddEventHandlerWithSuccessStatus(s.handle)
	w.live.Store(s)

	work, end := context.WithCancel(ctx)
	var workers sync.WaitGroup
	defer workers.Wait()
	defer end()
	workers.Go(func() { s.messages.Hand(work, in, s.give) })
	workers.Go(func() { s.passReceipts(work, in) })
	workers.Go(func() { s.watchUnread(work) })
	err = w.link.Stay(work, s.connect)
	if stop, ok := errors.AsType[*link.Stop](err); ok && stop.Code == stopLoggedOut.Code {
		w.unlinked = stopLoggedOut
		if err := s.keys.Forget(ctx); err != nil {
			return err
		}
	}
	return err
}

var (
	errLost = errors.New("WhatsApp has ended it")
	// errMissed makes the link reconnect: WhatsApp then repeats what was not
	// acknowledged.
	errMissed = errors.New("there is room again for what members wrote")
)

// connect holds one connection until it is lost or WhatsApp ends it for good.
func (s *session) connect(ctx context.Context, up func(detail string)) error {
	select {
	case <-s.state.up: // of the connection before
	default:
	}
	if err := s.keys.CheckOwner(ctx); err != nil {
		return err
	}
	if err := s.client.ConnectContext(s.gate.Context()); err != nil {
		return err
	}
	defer s.client.Disconnect()
	look := time.Tick(s.w.watch)
	for {
		select {
		case <-s.state.up:
			up("connected as +" + s.people.Me.User)
			if ctx, leave, ok := s.gate.Enter(ctx); ok {
				go s.preload(ctx, leave)
			}
		case <-s.state.lost:
			if !s.alive() {
				return errLost
			}
		case <-look:
			if s.w.link.Up() && !s.client.IsConnected() {
				return errLost
			}
			if s.state.missed.Load() && s.messages.HasRoom() == nil {
				s.state.missed.Store(false)
				return errMissed
			}
		case stop := <-s.state.stops:
			if stop.Code == stopOutdated.Code && !s.state.renewed && s.w.version.Renew(ctx) {
				s.state.renewed = true
				return errors.New(stop.Message)
			}
			if stop.Code == stopReplaced.Code && s.keys.Fenced && time.Since(s.state.replaced) > replacedAgain {
				s.state.replaced = time.Now()
				return errors.New(stop.Message)
			}
			return stop
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// stop ends the session for a reason; the first one counts.
func (s *session) stop(reason *link.Stop) {
	s.w.link.Down()
	select {
	case s.state.stops <- reason:
	default:
	}
}

// preload asks WhatsApp in advance for what the first Send needs.
func (s *session) preload(ctx context.Context, leave func()) {
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, warmTime)
	defer cancel()
	if err := s.media.Refresh(ctx); err != nil {
		s.log.Debug("ask for media servers", "error", err)
	}
	for _, chat := range *s.w.chats.Load() {
		if to, err := types.ParseJID(string(chat)); err == nil && s.w.Owns(chat) && to.Server == types.GroupServer {
			if _, err := s.chats.Writable(ctx, to); err != nil {
				s.log.Warn("ask about a registered group", "chat", chat, "error", err)
			}
		}
	}
}
