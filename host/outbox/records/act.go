package records

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
)

// Verb is what an Act does.
type Verb string

// The verbs.
const (
	VerbEdit    Verb = "edit"    // Part.Text is the new text
	VerbReact   Verb = "react"   // with Emoji
	VerbUnsend  Verb = "unsend"  //
	VerbEndPoll Verb = "endpoll" // Part.Text is how the question ended
)

// Act is a change to a message that the chat already has. The part keeps its place in the
// order of the chat and is retried like a message. A change may be made twice without harm
// (see [channel.Change]), so the part is never in doubt.
type Act struct {
	Verb   Verb      `json:"verb"`
	Target string    `json:"target"` // the platform's id of the message
	Sent   time.Time `json:"sent,omitzero"`
	Files  bool      `json:"files,omitempty"` // the message has files
	Emoji  string    `json:"emoji,omitempty"`

	// A change of a message that was on its way when the change was accepted has no Target
	// until the message is sent. Of and Part say which message it is.
	Of   string `json:"of,omitempty"`   // the key of its delivery
	Part int    `json:"part,omitempty"` // its position there
}

// Plain reports whether a part is a message with a text or files.
func (p *Part) Plain() bool { return p.Act == nil && p.Question == nil }

// Aimless reports whether a part changes a message whose id the platform had not given when
// the change was accepted.
func (p *Part) Aimless() bool { return p.Act != nil && p.Act.Target == "" && p.Act.Of != "" }

// Aim returns an aimless change with the id of its message, and with none if that was not sent:
// then why says the reason, if there is one.
func (r *Reader) Aim(ctx context.Context, act Act) (_ Act, why string, err error) {
	var now State
	var sent int64
	err = r.db.QueryRowContext(ctx, `SELECT p.receipt, p.receipt_time, p.state, p.message FROM delivery d JOIN part p ON p.delivery = d.id
		WHERE d.key = ? AND p.position = ?`, act.Of, act.Part).Scan(&act.Target, &sent, &now, &why)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	if !now.Sent() {
		act.Target = ""
	}
	act.Sent = fromNano(sent)
	return act, why, ofDatabase("look for a message", err)
}

// RecordAim records the message that a part's change is for.
func RecordAim(t *state.Tx, r *Record, position int, p *Part) error {
	text, err := p.actText()
	if err == nil && p.Act.Verb == VerbUnsend {
		err = unlink(t, r.Address(), p.Act.Target)
	}
	if err == nil {
		err = t.Exec(`UPDATE part SET act = ? WHERE delivery = ? AND position = ?`, text, r.ID, position)
	}
	return err
}
