package whatsapp

import (
	"context"
	"strings"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// deadLine is how long a connection may be silent.
const deadLine = 90 * time.Second

// handle takes what the library tells. It runs on the library's receive queue
// and therefore never waits, except for a write to the ledger. What it returns
// false for is not acknowledged, and comes again after a reconnect.
func (s *session) handle(evt any) bool {
	switch e := evt.(type) {
	case *events.Message:
		return s.keep(e)
	case *events.Receipt:
		return s.queueReceipt(e)
	case *events.MediaRetry:
		s.answerRetry(e)
	case *events.Connected:
		poke(s.up)
	case *events.Disconnected:
		s.setReady(false)
		poke(s.lost)
	case *events.StreamError:
		poke(s.lost)
	case *events.KeepAliveTimeout:
		if time.Since(e.LastSuccess) > deadLine {
			s.client.Disconnect()
			poke(s.lost)
		}
	case *events.GroupInfo:
		s.forgetChat(e.JID, nil)
	case *events.JoinedGroup:
		s.forgetChat(e.JID, nil)
	default:
		if end, ok := permanent(evt); ok {
			s.setReady(false)
			select {
			case s.stops <- end:
			default: // the first reason counts
			}
		}
	}
	return true
}

// permanent is why the platform has ended the connection for good.
func permanent(evt any) (stopped, bool) {
	switch e := evt.(type) {
	case *events.LoggedOut:
		more := ""
		if e.OnConnect {
			more = harmless(e.Reason.String())
		}
		return stopped{stopLoggedOut, more}, true
	case *events.StreamReplaced:
		return stopped{stop: stopReplaced}, true
	case *events.ClientOutdated:
		return stopped{stop: stopOutdated}, true
	case *events.TemporaryBan:
		more := harmless(e.Code.String())
		if end := until(e.Expire, time.Now()); end != "" {
			more += ", " + end
		}
		return stopped{stopBanned, more}, true
	case *events.ConnectFailure:
		return stopped{stopRefused, harmless(e.Reason.String() + " " + e.Message)}, true
	}
	return stopped{}, false
}

// maxReceipts is how many receipts wait for the Inbox.
const maxReceipts = 4096

// receipt is a device's word about one of our messages.
type receipt struct {
	id    string
	state channel.State
}

// queueReceipt says false when there is no room, so that WhatsApp repeats it.
func (s *session) queueReceipt(e *events.Receipt) bool {
	if e.IsFromMe {
		return true
	}
	var state channel.State
	switch e.Type {
	case types.ReceiptTypeDelivered:
		state = channel.StateDelivered
	case types.ReceiptTypeRead, types.ReceiptTypePlayed:
		state = channel.StateRead
	default:
		return true
	}
	for _, id := range e.MessageIDs {
		if !strings.HasPrefix(id, whatsmeow.WebMessageIDPrefix) {
			continue
		}
		select {
		case s.receipts <- receipt{id, state}:
		default:
			return false
		}
	}
	return true
}

// passReceipts reports each state of a message once: in a group, every
// member's devices tell.
func (s *session) passReceipts(ctx context.Context, in channel.Inbox) {
	told := map[receipt]bool{}
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-s.receipts:
			if told[r] {
				continue
			}
			m, err := s.ledger.sent(ctx, r.id)
			if err != nil {
				s.log.Error("look up what a device reports of", "error", err)
			}
			if m == nil {
				continue
			}
			if len(told) >= maxReceipts {
				clear(told)
			}
			told[r] = true
			in.Report(ctx, m.chat, r.id, r.state)
		}
	}
}

// keep makes a member's message durable; false when that fails.
func (s *session) keep(e *events.Message) bool {
	chat := s.chatOf(e.Info.MessageSource)
	history := e.SourceWebMsg != nil && e.UnavailableRequestID == ""
	if e.Info.IsFromMe || e.Message == nil || e.IsEdit || history || chat == "" {
		return true
	}
	if _, file := downloadable(e.Message, e.Info.Timestamp); file.Kind == "" && textOf(e.Message) == "" {
		return true // keys, reactions, votes, revocations
	}
	err := s.ledger.putInbound(s.ctx, inboundMessage{
		chat: chat, id: e.Info.ID, message: e.Message, received: time.Now(),
		info: inboundInfo{
			Chat: e.Info.Chat, Sender: e.Info.Sender, Alt: e.Info.SenderAlt, IsGroup: e.Info.IsGroup,
			PushName: e.Info.PushName, Time: e.Info.Timestamp,
		},
	})
	if err != nil {
		s.log.Error("a member's message could not be kept; whatsapp will repeat it", "chat", chat, "error", err)
		return false
	}
	poke(s.wake)
	return true
}

// chatOf is the chat as the host knows it, empty where it is none of the
// registered. A person may be addressed by number or by a hidden id (LID);
// what is registered is what counts.
func (s *session) chatOf(src types.MessageSource) groups.JID {
	candidates := []types.JID{src.Chat}
	if !src.IsGroup {
		candidates = append(candidates, src.SenderAlt.ToNonAD())
	}
	for _, c := range candidates {
		chat := groups.JID(c.String())
		if s.w.Owns(chat) && (s.registered == nil || s.registered[chat]) {
			return chat
		}
	}
	return ""
}
