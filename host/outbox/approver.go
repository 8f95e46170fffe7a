package outbox

import (
	"context"
	"database/sql"
	"errors"

	"github.com/longshore-bridge/longshore/groups"
)

// Waits says whether the delivery waits for an approval.
func (d *Delivery) Waits() bool { return d.waiting() }

// Approval returns what a delivery with that key waits for, or waited. Error: ErrNotFound.
func (r *Reader) Approval(ctx context.Context, key string) (a Approval, err error) {
	var expires int64
	err = r.db.QueryRowContext(ctx, `SELECT a.id, a.rule, a.expires FROM delivery d CROSS JOIN approval a ON a.delivery = d.id
		WHERE d.key = ?`, key).Scan(&a.ID, &a.Rule, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return a, ErrNotFound
	}
	a.Expires = fromNano(expires)
	return a, ofDatabase("look for an approval", err)
}

// KeyOfApproval returns the key of the delivery whose approval has the whole id, answered
// or not. Error: ErrNotFound.
func (r *Reader) KeyOfApproval(ctx context.Context, id string) (key string, err error) {
	err = r.db.QueryRowContext(ctx, `SELECT d.key FROM approval a CROSS JOIN delivery d ON d.id = a.delivery WHERE a.id = ?`, id).Scan(&key)
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
