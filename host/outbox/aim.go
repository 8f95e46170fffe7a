package outbox

import (
	"context"
	"database/sql"
	"errors"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/state"
)

// aimless reports whether a part changes a message whose id the platform had not given when
// the change was accepted.
func (p *Part) aimless() bool { return p.Act != nil && p.Act.Target == "" && p.Act.Of != "" }

// aim gives an aimless change the id of its message. The message stands before the change in
// the chat, and choose waits for the record of its outcome. If the message was not sent, the
// change fails with the reason.
func (o *Outbox) aim(ctx context.Context, a *attempt) (out outcome, ended bool) {
	if !a.part.aimless() {
		return out, false
	}
	act := *a.part.Act
	var now State
	var sent int64
	var why string
	err := o.state.QueryRowContext(ctx, `SELECT p.receipt, p.receipt_time, p.state, p.message FROM delivery d JOIN part p ON p.delivery = d.id
		WHERE d.key = ? AND p.position = ?`, act.Of, act.Part).Scan(&act.Target, &sent, &now, &why)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && !(now.sent() && act.Target != ""):
		return failed(a, &channel.Error{Class: channel.Permanent, Code: CodeNotSent, Message: notSentMessage(why), Hint: "send the message anew"}), true
	case err != nil:
		return o.later(a, ofDatabase("look for a message", err)), true
	}
	act.Sent = fromNano(sent)
	aimed := a.part
	aimed.Act = &act
	text, err := aimed.actText()
	if err == nil {
		err = o.state.Do(ctx, func(t *state.Tx) error {
			if act.Verb == VerbUnsend {
				if err := unlink(t, a.it.Address(), act.Target); err != nil {
					return err
				}
			}
			_, err := t.Exec(`UPDATE part SET act = ? WHERE delivery = ? AND position = ?`, text, a.it.id, a.pos)
			return err
		}, nil)
	}
	if err != nil {
		return o.later(a, ofDatabase("record the message that a change is for", err)), true
	}
	a.part.Act = &act
	return out, false
}

// CodeNotSent is the code of a change of a message that the chat never got.
const CodeNotSent = "not_sent"

func notSentMessage(why string) string {
	if why == "" {
		return "the message that it is for was not sent"
	}
	return "the message that it is for was not sent: " + why
}
