package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
)

// Can reports whether a channel supports a verb.
func Can(c channel.Channel, v records.Verb) (can bool) {
	switch v {
	case records.VerbEdit:
		_, can = c.(channel.Editor)
	case records.VerbReact:
		_, can = c.(channel.Reactor)
	case records.VerbUnsend:
		_, can = c.(channel.Unsender)
	case records.VerbEndPoll:
		_, can = c.(channel.PollEnder)
	}
	return can
}

// act calls the channel to make the change of a part.
func (o *Outbox) act(ctx context.Context, ch channel.Channel, a *attempt) error {
	return o.call(ctx, ch, 0, func(ctx context.Context) error {
		return late(ctx, makeChange(ctx, ch, a.part.Act.Verb, o.changeOf(a)))
	})
}

func (o *Outbox) changeOf(a *attempt) channel.Change {
	c := channel.Change{
		ID: a.part.MessageID, Chat: a.it.Chat, Text: a.part.Text,
		Target: a.part.Act.Target, Sent: a.part.Act.Sent, Files: a.part.Act.Files, Emoji: a.part.Act.Emoji,
	}
	if !a.noThread() {
		c.Thread = a.it.Thread
	}
	return c
}

func makeChange(ctx context.Context, ch channel.Channel, v records.Verb, c channel.Change) error {
	switch v {
	case records.VerbEdit:
		if e, can := ch.(channel.Editor); can {
			if err := inTime(ch, c.Sent, e.EditWithin()); err != nil {
				return err
			}
			return e.Edit(ctx, c)
		}
	case records.VerbReact:
		if r, can := ch.(channel.Reactor); can {
			return r.React(ctx, c)
		}
	case records.VerbUnsend:
		if u, can := ch.(channel.Unsender); can {
			if err := inTime(ch, c.Sent, u.UnsendWithin()); err != nil {
				return err
			}
			return u.Unsend(ctx, c)
		}
	case records.VerbEndPoll:
		if e, can := ch.(channel.PollEnder); can {
			return e.EndPoll(ctx, c)
		}
	}
	return &channel.Error{Class: channel.Permanent, Code: codeNotSupported, Message: fmt.Sprintf("the channel cannot do this: %s", v)}
}

// inTime returns the error of a change that has waited past the platform's time window.
func inTime(ch channel.Channel, sent time.Time, within time.Duration) error {
	if within == channel.Forever || sent.IsZero() || time.Since(sent) <= within {
		return nil
	}
	return &channel.Error{Class: channel.Permanent, Code: "too_late",
		Message: fmt.Sprintf("%s allows that for %v after sending, which passed while it waited", ch.Name(), within), Hint: "send a new message instead"}
}

// aim gives an aimless change the id of its message. The message stands before the change in
// the chat, and choose waits for the record of its outcome. If the message was not sent, the
// change fails with the reason.
func (o *Outbox) aim(ctx context.Context, a *attempt) (out outcome, ended bool) {
	if !a.part.Aimless() {
		return out, false
	}
	act, why, err := o.reader.Aim(ctx, *a.part.Act)
	switch {
	case err != nil:
		return o.later(a, err), true
	case act.Target == "":
		return failed(a, &channel.Error{Class: channel.Permanent, Code: records.CodeNotSent, Message: notSentMessage(why), Hint: "send the message anew"}), true
	}
	aimed := a.part
	aimed.Act = &act
	if err := o.state.Do(ctx, func(t *state.Tx) error { return records.RecordAim(t, &a.it.Record, a.pos, &aimed) }, nil); err != nil {
		return o.later(a, fmt.Errorf("record the message that a change is for: %w", store.Words(err))), true
	}
	a.part.Act = &act
	return out, false
}

func notSentMessage(why string) string {
	if why == "" {
		return "the message that it is for was not sent"
	}
	return "the message that it is for was not sent: " + why
}
