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
)

// The library encrypts and sends one message at a time, under a lock that it
// keeps until WhatsApp acknowledges the message. These bound how long one
// message delays those of other chats.
const (
	// defaultPatience is how long the lock is kept for an acknowledgement.
	// Acknowledgements take a fraction of a second; a later one is heard outside
	// the lock.
	defaultPatience = 3 * time.Second
	// leastPatience bounds the halving of patience from below.
	leastPatience = 100 * time.Millisecond
	// defaultSlot is how long the lock is kept for all: the questions about
	// devices and their keys, the encryption for each device of a large group,
	// the sending, and the library's own repeat after a reconnect. The library
	// itself sets no bound for the last.
	defaultSlot = 30 * time.Second
)

// turn lets one message at a time into the library, which knows no context
// there.
type turn struct {
	taken          chan struct{}
	patience, slot time.Duration // as in defaultPatience and defaultSlot
	ackTime        time.Duration // how long an acknowledgement is waited for in all
	missing        atomic.Int64  // messages whose acknowledgement is late
}

// take waits for the turn; the caller leaves it.
func (t *turn) take(ctx context.Context) (leave func(), err error) {
	select {
	case t.taken <- struct{}{}:
		return func() { <-t.taken }, nil
	case <-ctx.Done():
		return nil, cancelled(ctx)
	}
}

// patienceNow halves the patience for each message whose acknowledgement is
// missing at the moment: however many get lost, the messages behind them wait
// for less than twice the patience, and for leastPatience each.
func (t *turn) patienceNow() time.Duration {
	most := min(t.patience, t.ackTime)
	return min(most, max(most>>min(t.missing.Load(), 32), leastPatience))
}

// deliver hands the finished message over and waits for WhatsApp's word: the
// acknowledgement, or a receipt of a device, which WhatsApp passes on only if
// it has taken the message.
func (s *session) deliver(ctx context.Context, m outgoing, sent *sentMessage) (channel.Receipt, error) {
	reported, end := s.reports.Expect(m.id)
	defer end()
	at, ack, err := s.handOver(ctx, m, sent)
	if ack != nil {
		at, err = s.hear(ctx, ack, reported)
	}
	if err != nil {
		err = verdict(err)
		s.chats.forget(m.to, err)
		return channel.Receipt{}, err
	}
	if at.IsZero() {
		at = time.Now()
	}
	// From here on the caller's wish to stop no longer counts: it is sent.
	if err := s.ledger.Acknowledge(context.WithoutCancel(ctx), m.id, at); err != nil {
		s.log.Error("record an acknowledgement; a repeat would be sent again under the same id", "chat", m.Chat, "error", err)
	}
	return channel.Receipt{ID: m.id, Time: at, Note: sent.Note}, nil
}

// handOver lets the library encrypt and send the message when it is its turn,
// and returns WhatsApp's time of the message. If the message has left without
// an acknowledgement in time, the turn ends, and ack is where the
// acknowledgement will arrive.
func (s *session) handOver(ctx context.Context, m outgoing, sent *sentMessage) (at time.Time, ack <-chan *waBinary.Node, err error) {
	leave, err := s.w.turn.take(ctx)
	if err != nil {
		return time.Time{}, nil, err
	}
	defer leave()
	if err := s.waitConnected(ctx); err != nil {
		return time.Time{}, nil, err
	}
	slot, cancel := context.WithTimeout(ctx, s.w.turn.slot)
	defer cancel()
	res, err := s.client.SendMessage(slot, m.to, sent.message, whatsmeow.SendRequestExtra{ID: m.id, Timeout: s.w.turn.patienceNow()})
	cut := err != nil && slot.Err() != nil && ctx.Err() == nil && channel.ClassOf(verdict(err)) == channel.Ambiguous
	if errors.Is(err, whatsmeow.ErrMessageTimedOut) || cut {
		// Not given back with CancelResponse, which may close the channel while
		// the library writes to it: the library forgets a waiter with its
		// acknowledgement, with a repeat, or when the connection ends.
		return time.Time{}, s.client.DangerousInternals().WaitResponse(m.id), nil
	}
	return res.Timestamp, nil, err
}

// hear waits outside the lock for what has not come in time.
func (s *session) hear(ctx context.Context, ack <-chan *waBinary.Node, reported <-chan time.Time) (time.Time, error) {
	t := &s.w.turn
	t.missing.Add(1)
	defer t.missing.Add(-1)
	timer := time.NewTimer(t.ackTime - min(t.patience, t.ackTime))
	defer timer.Stop()
	select {
	case answer := <-ack:
		return acknowledged(answer)
	case at := <-reported:
		return at, nil
	case <-timer.C:
		return time.Time{}, whatsmeow.ErrMessageTimedOut
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
}

// acknowledged reads what the library hands to who waits for an answer: an
// acknowledgement, or the end of the connection.
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

// reported takes a believed receipt of a message for its acknowledgement.
func (s *session) reported(ctx context.Context, id string, at time.Time) {
	if at.IsZero() {
		at = time.Now()
	}
	if err := s.ledger.Acknowledge(ctx, id, at); err != nil {
		s.log.Error("record a receipt; a repeat would be sent again under the same id", "message", id, "error", err)
	}
	s.reports.Tell(id, at)
}
