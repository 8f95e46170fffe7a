package outbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox/changes"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// errTooEarly passes: the vote arrived before the answer to the Send of its question.
var errTooEarly = errors.New("a question of this chat is still on its way")

// RandomID returns an id that nobody can guess.
func RandomID() string {
	id := make([]byte, 16)
	rand.Read(id)
	return hex.EncodeToString(id)
}

// ask fills in what the delivery's question asks, unless it shows what is recorded.
func (it *item) ask(q *records.Question) *records.Question {
	if q.Ask != "" {
		return q
	}
	own := *q
	own.Ask = RandomID()
	it.Asks = &records.Ask{ID: own.Ask, Policy: records.PolicyQuestion, Folder: it.Folder, Thread: it.Thread, Expires: q.Until}
	return &own
}

// Asking holds a value after something new is asked, and after an answer that came too late:
// the clock may have been set ahead.
func (o *Outbox) Asking() <-chan struct{} { return o.asking }

// Asked returns what a chat was asked by the poll in which a member has voted, or by the newest
// numbered text that a message answers, whose choices it sets in the message. Whether the answer
// counts is for the caller to see. The error is records.ErrNotFound if it answers nothing;
// others pass.
func (o *Outbox) Asked(ctx context.Context, chat groups.Address, m *channel.Inbound) (*records.Ask, error) {
	if m.Kind == channel.KindVote {
		a, err := o.reader.AskOfPoll(ctx, chat, m.Target)
		switch {
		case err == nil && !a.Shown.Question.Takes(m.Choices):
			err = records.ErrNotFound
		case errors.Is(err, records.ErrNotFound):
			err = cmp.Or(o.tooEarly(ctx, chat), err)
		}
		return a, err
	}
	open, err := o.reader.AsksIn(ctx, chat, time.Now())
	for i := range open {
		a := &open[i]
		if a.Policy != records.PolicyQuestion || !a.Shown.Numbered(m) {
			continue
		}
		if choices, ok := a.Shown.Question.Spoken(m.Text); ok {
			m.Choices = choices
			return a, nil
		}
	}
	return nil, cmp.Or(err, records.ErrNotFound)
}

// tooEarly returns errTooEarly if a question may have just appeared in the chat without a known
// id. A question that is only queued does not count: it would hold up the chat's votes in
// other polls.
func (o *Outbox) tooEarly(ctx context.Context, chat groups.Address) error {
	now := time.Now()
	open, err := o.reader.AsksIn(ctx, chat, now)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range open {
		it := o.live[open[i].Shown.Delivery]
		if it != nil && slices.ContainsFunc(it.Parts, func(p records.Part) bool {
			unrecorded := p.Attempts > 0 && !p.Next.After(now) // its outcome may be on its way to the disk
			return p.State == records.Sending || p.State == records.Queued && (unrecorded || !p.Doubt.IsZero() && now.Sub(p.Doubt) < time.Minute)
		}) {
			return errTooEarly
		}
	}
	return nil
}

// Vote records a member's answer to an assistant's question. first reports whether nobody else
// had answered it.
func (o *Outbox) Vote(ctx context.Context, a *records.Ask, by records.Answer) (first bool, err error) {
	err = o.state.Do(ctx, func(t *state.Tx) (err error) {
		first, err = records.SaveAnswer(t, a.Delivery, by)
		return err
	}, func() { o.askChanged(a) })
	return first, err
}

// askChanged has the result of a question's delivery written again.
func (o *Outbox) askChanged(a *records.Ask) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.changes.Add(a.Shown.Folder, a.Delivery, changes.New)
}

// Answer ends an Ask: what is one of the answers of package records, by is who gave it. After a
// yes, the delivery that waits for it goes behind the waiting ones of its chat, with a deadline of
// its own; after another answer it is Refused, and its bytes are deleted. Of several answers the
// first counts. Errors: ErrDecided, ErrNotFound, ErrNoBytes; others pass.
func (o *Outbox) Answer(ctx context.Context, a *records.Ask, what, by string) (err error) {
	if a.Policy == records.PolicyApproval {
		err = o.decide(ctx, a, what, by)
	} else {
		err = o.state.Do(ctx, func(t *state.Tx) error { return records.AnswerAsk(t, a.ID, what, by, time.Now()) }, func() { o.askChanged(a) })
	}
	if errors.Is(err, records.ErrDecided) {
		wake.Up(o.asking)
	}
	return err
}

// SaveAsk records when an Ask expires, and whether people were told how it ended.
func (o *Outbox) SaveAsk(ctx context.Context, a *records.Ask) error {
	return o.state.Do(ctx, func(t *state.Tx) error { return records.SaveAsk(t, a) }, nil)
}
