package bridge

import (
	"context"
	"slices"

	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// errUnknownMessage refuses a message that does not exist for the asker.
var errUnknownMessage = &ipc.Refusal{
	Code: "unknown_message", Message: "this chat has no message of yours with that id", Hint: "give the message id, or the id, that the send tool returned",
}

// messages returns the messages of a change's target that were sent or will be sent before
// it: in its chat, in its batch and in its queue. If none of them was or will be sent, the
// error is a refusal with the reason.
func (b *Bridge) messages(ctx context.Context, it *spool.Item, dst destination, before *acceptance) ([]records.SentPart, error) {
	all, err := b.Outbox.Reader().Sent(ctx, dst.address(), dst.from, it.Request.Target)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		all = before.sent(it.Request.Target, dst)
	}
	if len(all) == 0 {
		return nil, b.notAhead(it, dst, before)
	}
	gone := func(s records.SentPart) bool { return !s.OnItsWay() && !s.Arrived() }
	if !slices.ContainsFunc(all, func(s records.SentPart) bool { return !gone(s) }) {
		if all[0].State == records.Waiting {
			return nil, &ipc.Refusal{Code: "not_sent_yet", Message: "that message waits for a person's yes", Hint: "wait until delivery_status says that it is sent, then call again"}
		}
		return nil, notSent(all[0].Message)
	}
	return slices.DeleteFunc(all, gone), nil
}

// notAhead returns why no message of a change's target comes before it: the target was
// refused, or still stands before the change in the queue, which passes. Nil: there is no
// such request.
func (b *Bridge) notAhead(it *spool.Item, dst destination, before *acceptance) error {
	target := it.Request.Target
	bound, isBound := dst.from.Bound()
	if r, ok := before.refused[target]; ok && (!isBound || r.bound == bound) {
		return notSent(r.why.Message)
	}
	if isBound || !ipc.ValidID(target) { // a file of the queue does not say whose it is
		return nil
	}
	if r, ok := b.Spool.Result(it.Folder, target); ok && r.Status == ipc.Refused {
		return notSent(r.Message)
	}
	if it.Follows(target) && b.Spool.Waits(it.Folder, target) {
		return &outbox.FullError{Code: "waits_for_message", Message: "the message that it is for stands before it in the queue", Hint: "it is taken by itself after that message; do not call again"}
	}
	return nil
}

func notSent(why string) *ipc.Refusal {
	return &ipc.Refusal{Code: records.CodeNotSent, Message: "that message was not sent: " + why, Hint: "send the message anew"}
}

// answerable refuses an answer to a message that does not exist for the asker: the platform
// would quote it, or put the answer into its thread.
func (b *Bridge) answerable(ctx context.Context, r ipc.Request, dst destination, assistants Assistants) error {
	if r.ReplyTo == "" {
		return nil
	}
	return b.mayName(ctx, r.ReplyTo, dst, assistants)
}

// mayName refuses a platform's id that names no message of the asking conversation. A whole
// group may name every message of its chat.
func (b *Bridge) mayName(ctx context.Context, id string, dst destination, assistants Assistants) error {
	thread, bound := dst.from.Bound()
	if !bound {
		return nil
	}
	sent, err := b.Outbox.Reader().Sent(ctx, dst.address(), dst.from, id)
	if err != nil || slices.ContainsFunc(sent, func(s records.SentPart) bool { return s.ID == id }) {
		return err
	}
	if dst.foreign() {
		return errUnknownMessage
	}
	known, err := assistants.Knows(dst.from.Folder(), thread, id)
	if err == nil && !known {
		err = errUnknownMessage
	}
	return err
}
