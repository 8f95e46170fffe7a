package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/host/channel/link"
	stores "github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// lookTime bounds the wait for a Run that only checks whether an account is linked.
const lookTime = 3 * time.Second

// withSession calls do with a session made for this call, if Run has none. It waits for a Run
// that only checks whether an account is linked.
func (w *WhatsApp) withSession(ctx context.Context, do func(*session) error) error {
	s, err := w.open(ctx)
	for began := time.Now(); errors.Is(err, stores.ErrLocked) && time.Since(began) < lookTime && ctx.Err() == nil; s, err = w.open(ctx) {
		time.Sleep(lookTime / 60)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err := s.close(); err != nil {
			w.log.Error("close whatsapp store", "error", err)
		}
	}()
	return do(s)
}

// login collects the server's answer to a device that has connected.
type login struct {
	up      chan struct{}
	refused chan *link.Stop // the first reason
}

func newLogin() login {
	return login{up: make(chan struct{}, 1), refused: make(chan *link.Stop, 1)}
}

// note handles each event of the library.
func (l login) note(evt any) {
	if _, ok := evt.(*events.Connected); ok {
		wake.Up(l.up)
	}
	if reason := permanent(evt); reason != nil {
		select {
		case l.refused <- reason:
		default:
		}
	}
}

// wait returns nil once the device is logged in, and an error with the words late
// if the server has not answered after timeout.
func (l login) wait(ctx context.Context, timeout time.Duration, late string) error {
	select {
	case <-l.up:
		return nil
	case reason := <-l.refused:
		return fmt.Errorf("%s: %s", reason.Message, reason.Hint)
	case <-time.After(timeout):
		return errors.New(late)
	case <-ctx.Done():
		return ctx.Err()
	}
}
