package outbox

import (
	"context"
	"fmt"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
)

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
