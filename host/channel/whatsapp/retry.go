package whatsapp

import (
	"context"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/librarylog"
)

// messageForRetry gives the library a message that a device could not decrypt, if
// the library's own cache of 256 messages no longer has it. Whether the device
// gets the message is decided by onRetryRequest, which the library calls afterwards, also
// for messages from its cache.
func (s *session) messageForRetry(_, _ types.JID, id types.MessageID) *waE2E.Message {
	m, err := s.messages.FindSent(s.gate.Context(), id)
	if err != nil {
		s.log.Error("look up a message that a device asks for again", "error", err)
	}
	if m == nil {
		return nil
	}
	return m.Message
}

// onRetryRequest sends a message once more to a device that asks for it, if the device may
// have the message. The library calls it in one goroutine per request. It returns false, so
// that the library sends nothing by itself.
func (s *session) onRetryRequest(asks *events.Receipt, id types.MessageID, count int, _ *waE2E.Message) bool {
	ctx, leave, ok := s.gate.Enter(context.Background())
	if !ok {
		return false
	}
	defer leave()
	m, err := s.messages.FindSent(ctx, id)
	if err != nil {
		s.log.Error("look up a message that a device asks for again", "error", err)
	}
	if m == nil || !s.chats.MayReferTo(ctx, m.Chat, asks.MessageSource) {
		s.log.Debug("a device asked for a message that is not for it", "message", librarylog.Harmless(id))
		return false
	}
	if err := s.resend(ctx, asks, count, m); err != nil {
		s.log.Info("send a message to a device that asks for it again", "message", id, "error", err)
	}
	return false
}
