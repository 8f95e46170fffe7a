package outbox

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/longshore-bridge/longshore/groups"
)

// Waits reports whether the delivery waits for an approval.
func (d *Delivery) Waits() bool { return d.waiting() }

// Approval returns what a delivery with that key waits for, or waited. Error: ErrNotFound.
func (r *Reader) Approval(ctx context.Context, key string) (a Approval, err error) {
	var expires int64
	err = r.db.QueryRowContext(ctx, `SELECT a.id, a.rule, a.expires FROM delivery d JOIN approval a ON a.delivery = d.id
		WHERE d.key = ?`, key).Scan(&a.ID, &a.Rule, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return a, ErrNotFound
	}
	a.Expires = fromNano(expires)
	return a, ofDatabase("look for an approval", err)
}

// Decision is a person's answer to an approval.
type Decision struct {
	Key  string // of the delivery
	Rule string // as Approval.Rule
	Yes  bool
	By   string // as for [Outbox.Decide]
	Time time.Time
}

// DecisionsSince returns the answers that people have given since then, the oldest first,
// as far as the records go back.
func (r *Reader) DecisionsSince(ctx context.Context, since time.Time) (all []Decision, err error) {
	rows, err := r.db.QueryContext(ctx, `SELECT d.key, a.rule, a.answer = 'yes', a.by, a.answered FROM approval a JOIN delivery d ON d.id = a.delivery
		WHERE a.answer IN ('yes', 'no') AND a.answered >= ? ORDER BY a.answered`, nano(since))
	err = each(rows, err, func() error {
		var a Decision
		var at int64
		err := rows.Scan(&a.Key, &a.Rule, &a.Yes, &a.By, &at)
		a.Time = fromNano(at)
		all = append(all, a)
		return err
	})
	return all, ofDatabase("read answers", err)
}

// KeyOfApproval returns the key of the delivery whose approval has the whole id, answered
// or not. Error: ErrNotFound.
func (r *Reader) KeyOfApproval(ctx context.Context, id string) (key string, err error) {
	err = r.db.QueryRowContext(ctx, `SELECT d.key FROM approval a JOIN delivery d ON d.id = a.delivery WHERE a.id = ?`, id).Scan(&key)
	if errors.Is(err, sql.ErrNoRows) {
		return "", ErrNotFound
	}
	return key, ofDatabase("look for an approval", err)
}

// ApprovalAsked returns the id of the approval that the chat's poll asks for, and the
// choices that a vote in it names; empty: the poll asks for none. Errors pass: the question
// may still be on its way.
func (o *Outbox) ApprovalAsked(ctx context.Context, chat groups.Address, poll string, choices []string) (id string, chosen []string, err error) {
	q, chosen, _, err := o.questionOf(ctx, chat, &Vote{Poll: poll, Choices: choices})
	if q == nil || err != nil {
		return "", nil, err
	}
	return q.Approval, chosen, nil
}
