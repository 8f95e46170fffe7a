package whatsapp

import (
	"context"
	"errors"
	"io"

	"go.mau.fi/whatsmeow"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
)

// Fetch downloads a member's file. It needs the journal's record of the message,
// which is kept for 7 days and for the latest 1000 messages.
func (w *WhatsApp) Fetch(ctx context.Context, f channel.FileRef) (io.ReadCloser, error) {
	s, ctx, leave, ok := w.enter(ctx)
	if !ok {
		return nil, notAsked(nil)
	}
	defer leave()
	if err := s.waitConnected(ctx); err != nil {
		return nil, notAsked(err)
	}
	m, err := read(s.ledger.ByRef(ctx, f.Chat, f.Ref))
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, channel.Unfetchable("the host does not know the message any more")
	}
	msg, info := downloadable(m.message, m.info.Time)
	if msg == nil {
		return nil, channel.Unfetchable("the message holds no file")
	}
	pace := transfer.Brisk
	if f.Patient {
		pace = transfer.Patient
	}
	file, err := s.fetch(ctx, m, msg, info, pace)
	var lost *whatsmeow.DisconnectedError
	if errors.Is(err, whatsmeow.ErrNotConnected) || errors.As(err, &lost) {
		return nil, notAsked(err)
	}
	return file, err
}

// notAsked is the temporary error of an attempt that reached no media server.
func notAsked(err error) error {
	return &channel.Error{Class: channel.Held, Code: "not_connected", Message: "the host is not connected to WhatsApp", Hint: "it is tried again by itself", Err: err}
}
