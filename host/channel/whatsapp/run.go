package whatsapp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/host/channel"
)

const (
	loginTime   = time.Minute      // from a connection to WhatsApp's welcome
	watchEvery  = 15 * time.Second // that the connection is looked at
	lookEvery   = 2 * time.Second  // that a stopped channel looks whether it was paired
	pruneEvery  = time.Hour
	warmTime    = time.Minute
	reconnectIn = time.Second
	reconnectBy = time.Minute // the longest pause between attempts
)

// Run keeps the account's device connected until ctx is done. What passes is
// mended by itself. What does not (no account linked, logged out, replaced by
// another process, outdated, banned) makes every Send fail as held and is told
// by Connected; Run stays, and goes on when Pair has linked an account, also
// from another process. Only a store that cannot be opened is an error.
func (w *WhatsApp) Run(ctx context.Context, in channel.Inbox) error {
	defer w.status.set("")
	for ctx.Err() == nil {
		changed := w.pairing()
		reason, err := w.serve(ctx, in)
		if ctx.Err() != nil {
			if err != nil {
				w.log.Debug("end whatsapp", "error", err)
			}
			break
		}
		if err != nil {
			return err
		}
		w.status.setStop(reason.stop, reason.more)
		w.log.Warn("whatsapp is stopped", "reason", reason.code, "detail", reason.more, "remedy", reason.hint)
		w.waitForRemedy(ctx, reason, changed)
	}
	return nil
}

// pairing is closed at the next change of the account by Pair or Unpair.
func (w *WhatsApp) pairing() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.paired
}

func (w *WhatsApp) tellPairing() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.paired)
	w.paired = make(chan struct{})
}

// waitForRemedy waits until it makes sense to try again. Another process that
// pairs writes into the store, which is seen by its files alone.
func (w *WhatsApp) waitForRemedy(ctx context.Context, reason stopped, changed <-chan struct{}) {
	before := w.stamps()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			return
		case <-tick.C:
		}
		switch reason.code {
		case stopLocked.code:
			return
		case stopNotPaired.code, stopLoggedOut.code:
			if w.stamps() != before && !w.inUse() {
				return
			}
		}
	}
}

// inUse says whether another process holds the lock at the moment.
func (w *WhatsApp) inUse() bool {
	f, err := lockFile(filepath.Join(w.opts.Dir, "whatsapp.lock"))
	if err != nil {
		return errors.Is(err, errLocked)
	}
	f.Close()
	return false
}

type stamp struct {
	size int64
	time time.Time
}

func (w *WhatsApp) stamps() (s [2]stamp) {
	for i, name := range []string{"whatsapp.db", "whatsapp.db-wal"} {
		if info, err := os.Stat(filepath.Join(w.opts.Dir, name)); err == nil {
			s[i] = stamp{info.Size(), info.ModTime()}
		}
	}
	return s
}

// serve is one session, from opening the store to the reason for its end.
func (w *WhatsApp) serve(ctx context.Context, in channel.Inbox) (reason stopped, err error) {
	s, err := w.open(ctx)
	if errors.Is(err, errLocked) {
		return stopped{stop: stopLocked}, nil
	}
	if err != nil {
		return stopped{}, err
	}
	defer func() {
		w.setSession(nil)
		err = errors.Join(err, s.close())
	}()
	if s.self.IsEmpty() {
		return stopped{stop: stopNotPaired}, nil
	}
	w.askVersion(ctx)
	s.newClient()
	s.client.AddEventHandlerWithSuccessStatus(s.handle)
	w.status.set("connecting to WhatsApp")
	w.setSession(s)

	work, end := context.WithCancel(ctx)
	var workers sync.WaitGroup
	defer workers.Wait()
	defer end()
	workers.Go(func() { s.passInbound(work, in) })
	workers.Go(func() { s.passReceipts(work, in) })
	reason = s.stayConnected(work)
	if reason.code == stopLoggedOut.code {
		err = s.forgetDevice(ctx)
	}
	return reason, err
}

// stayConnected connects, and connects again, until ctx is done or the
// platform ends it.
func (s *session) stayConnected(ctx context.Context) stopped {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = reconnectIn, reconnectBy
	for mended := false; ; {
		wasUp := false
		err := s.client.ConnectContext(s.ctx)
		if err == nil {
			var end *stopped
			end, wasUp = s.watch(ctx)
			if end != nil && end.code == stopOutdated.code && !mended && s.w.newerVersion(ctx) {
				mended, end = true, nil
			}
			if end != nil {
				return *end
			}
		} else {
			s.log.Info("connect to whatsapp", "error", err)
		}
		s.setReady(false)
		s.client.Disconnect()
		if ctx.Err() != nil {
			return stopped{}
		}
		wait := time.Duration(0)
		if wasUp {
			pause.Reset()
		} else {
			wait = pause.NextBackOff()
		}
		s.w.status.set("reconnecting to WhatsApp")
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return stopped{}
		case end := <-s.stops:
			return end
		}
	}
}

// watch returns when the connection is lost, or for good.
func (s *session) watch(ctx context.Context) (end *stopped, wasUp bool) {
	login := time.NewTimer(loginTime)
	defer login.Stop()
	look, prune := time.NewTicker(watchEvery), time.NewTicker(pruneEvery)
	defer look.Stop()
	defer prune.Stop()
	for {
		select {
		case <-s.up:
			wasUp = true
			login.Stop()
			s.setReady(true)
			s.w.status.set("connected as +" + s.self.User)
			s.log.Info("connected to whatsapp")
			poke(s.wake)
			if s.enter() {
				go s.warm()
			}
		case <-s.lost:
			if !s.client.IsConnected() || !s.client.IsLoggedIn() {
				s.log.Info("lost the connection to whatsapp")
				return nil, wasUp
			}
		case <-login.C:
			s.log.Info("whatsapp did not welcome the device in time")
			return nil, wasUp
		case <-look.C:
			if wasUp && !s.client.IsConnected() {
				return nil, wasUp
			}
		case <-prune.C:
			if err := s.ledger.prune(ctx); err != nil {
				s.log.Error("forget old whatsapp messages", "error", err)
			}
		case got := <-s.stops:
			return &got, wasUp
		case <-ctx.Done():
			return nil, wasUp
		}
	}
}

func (s *session) setReady(on bool) {
	s.ready.Store(on)
	s.change.tell()
}

// warm asks for what the first Send would have to ask for.
func (s *session) warm() {
	defer s.leave()
	ctx, cancel := context.WithTimeout(s.ctx, warmTime)
	defer cancel()
	if _, err := s.mediaConn(ctx, false); err != nil {
		s.log.Debug("ask for media servers", "error", err)
	}
	for _, chat := range s.w.opts.Chats {
		if to, err := types.ParseJID(string(chat)); err == nil && s.w.Owns(chat) && to.Server == types.GroupServer {
			if _, err := s.chat(ctx, to); err != nil {
				s.log.Warn("ask about a registered group", "chat", chat, "error", err)
			}
		}
	}
}
