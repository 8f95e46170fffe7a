package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.mau.fi/whatsmeow"
	waBinary "go.mau.fi/whatsmeow/binary"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/messages"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/outcome"
)

// The library encrypts and sends one message at a time, under a lock that it
// holds until WhatsApp acknowledges the message. These times bound how long one
// message delays the messages of other chats.
const (
	// defaultAckWait is how long the lock is held for an acknowledgement.
	// Acknowledgements take a fraction of a second; awaitAck waits for a later one
	// without the lock.
	defaultAckWait = 3 * time.Second
	// leastAckWait bounds the halving of ackWait from below.
	leastAckWait = 100 * time.Millisecond
	// defaultSlot is how long the lock is held in all: for the questions about
	// devices and their keys, the encryption for each device of a large group, the
	// sending, and the library's own repeat after a reconnect, for which the
	// library sets no bound.
	defaultSlot = 30 * time.Second
)

// sendSlot lets one message at a time into the library, whose lock does not obey a
// context.
type sendSlot struct {
	taken         chan struct{}
	ackWait, most time.Duration // as in defaultAckWait and defaultSlot
	ackTime       time.Duration // how long deliver waits for an acknowledgement in all
	missing       atomic.Int64  // messages whose acknowledgement is late
}

// take waits for the slot; the caller calls leave.
func (t *sendSlot) take(ctx context.Context) (leave func(), err error) {
	select {
	case t.taken <- struct{}{}:
		return func() { <-t.taken }, nil
	case <-ctx.Done():
		return nil, outcome.Cancelled(ctx)
	}
}

// ackWaitNow halves the ackWait for each message whose acknowledgement is
// missing at the moment. So however many acknowledgements get lost, the messages
// behind them wait for less than twice the ackWait, plus leastAckWait each.
func (t *sendSlot) ackWaitNow() time.Duration {
	most := min(t.ackWait, t.ackTime)
	return min(most, max(most>>min(t.missing.Load(), 32), leastAckWait))
}

// deliver hands the finished message to the library and waits for WhatsApp's
// answer: the acknowledgement, or a device's receipt, which WhatsApp passes on only
// if it has taken the message.
func (s *session) deliver(ctx context.Context, m outgoing, sent *messages.Sent) (channel.Receipt, error) {
	reported, end := s.reports.Expect(m.id)
	defer end()
	at, ack, err := s.encryptAndSend(ctx, m, sent)
	if ack != nil {
		at, err = s.awaitAck(ctx, ack, reported)
	}
	if err != nil {
		err = outcome.Of(err)
		s.chats.Forget(m.to, err)
		return channel.Receipt{}, err
	}
	if at.IsZero() {
		at = time.Now()
	}
	// The message is sent: a caller that stops now must not prevent the record.
	if err := s.messages.Acknowledge(context.WithoutCancel(ctx), m.id, at); err != nil {
		s.log.Error("record an acknowledgement; a repeat would be sent again under the same id", "chat", m.Chat, "error", err)
	}
	return channel.Receipt{ID: m.id, Time: at, Note: sent.Note}, nil
}

// encryptAndSend waits for the slot, lets the library encrypt and send the message, and
// returns WhatsApp's time of the message. If the message has left and no
// acknowledgement came in time, encryptAndSend frees the slot and returns ack, on which
// the acknowledgement will arrive.
func (s *session) encryptAndSend(ctx context.Context, m outgoing, sent *messages.Sent) (at time.Time, ack <-chan *waBinary.Node, err error) {
	leave, err := s.w.sendSlot.take(ctx)
	if err != nil {
		return time.Time{}, nil, err
	}
	defer leave()
	if err := s.waitConnected(ctx); err != nil {
		return time.Time{}, nil, err
	}
	slot, cancel := context.WithTimeout(ctx, s.w.sendSlot.most)
	defer cancel()
	res, err := s.client.SendMessage(slot, m.to, sent.Message, whatsmeow.SendRequestExtra{ID: m.id, Timeout: s.w.sendSlot.ackWaitNow()})
	cut := err != nil && slot.Err() != nil && ctx.Err() == nil && channel.ClassOf(outcome.Of(err)) == channel.Ambiguous
	if errors.Is(err, whatsmeow.ErrMessageTimedOut) || cut {
		// Not given back with CancelResponse, which may close the channel while
		// the library writes to it: the library forgets a waiter with its
		// acknowledgement, with a repeat, or when the connection ends.
		return time.Time{}, s.client.DangerousInternals().WaitResponse(m.id), nil
	}
	return res.Timestamp, nil, err
}

// awaitAck waits, without the slot, for a late acknowledgement.
func (s *session) awaitAck(ctx context.Context, ack <-chan *waBinary.Node, reported <-chan time.Time) (time.Time, error) {
	t := &s.w.sendSlot
	t.missing.Add(1)
	defer t.missing.Add(-1)
	select {
	case answer := <-ack:
		return acknowledged(answer)
	case at := <-reported:
		return at, nil
	case <-time.After(t.ackTime - min(t.ackWait, t.ackTime)):
		return time.Time{}, whatsmeow.ErrMessageTimedOut
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
}

// acknowledged reads the library's answer to a waiting caller: an acknowledgement,
// or the end of the connection.
func acknowledged(answer *waBinary.Node) (time.Time, error) {
	if answer == nil {
		return time.Time{}, whatsmeow.ErrMessageTimedOut
	}
	if answer.Tag != "ack" {
		return time.Time{}, &whatsmeow.DisconnectedError{Action: "message send", Node: answer}
	}
	attrs := answer.AttrGetter()
	if code := attrs.OptionalInt("error"); code != 0 {
		return time.Time{}, fmt.Errorf("%w %d", whatsmeow.ErrServerReturnedError, code)
	}
	return attrs.OptionalUnixTime("t"), nil
}

// acknowledgeByReceipt records a message as acknowledged because a device has sent a receipt
// for it.
func (s *session) acknowledgeByReceipt(ctx context.Context, id string, at time.Time) {
	if at.IsZero() {
		at = time.Now()
	}
	if err := s.messages.Acknowledge(ctx, id, at); err != nil {
		s.log.Error("record a receipt; a repeat would be sent again under the same id", "message", id, "error", err)
	}
	s.reports.Tell(id, at)
}
