package records

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/state"
)

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
	By   string // who gave it
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

// The answers that are recorded.
const (
	AnswerYes  = "yes"
	AnswerNo   = "no"
	AnswerNone = "none" // nobody answered in time
	AnswerLost = "lost" // the bytes were gone
)

// insertApproval records what a new delivery waits for.
func insertApproval(t *state.Tx, it *Record, now time.Time) error {
	if it.Approval == nil {
		return nil
	}
	p := &it.Parts[0]
	_, err := t.Exec(`UPDATE part SET code = ?, message = ?, hint = ? WHERE delivery = ?`, p.Code, p.Message, p.Hint, it.ID)
	if err == nil {
		_, err = t.Exec(`INSERT INTO approval (id, delivery, rule, made, expires) VALUES (?, ?, ?, ?, ?)`,
			it.Approval.ID, it.ID, it.Approval.Rule, nano(now), nano(it.Approval.Expires))
	}
	return ofDatabase("record an approval", err)
}

// AnswerApproval records an answer, once and in time.
func AnswerApproval(t *state.Tx, delivery int64, what, by string, now time.Time) error {
	n, err := t.Changed(`UPDATE approval SET answer = ?1, by = ?2, answered = ?3
		WHERE delivery = ?4 AND answer = '' AND (expires > ?3 OR ?1 = 'none')`, what, by, nano(now), delivery)
	if err == nil && n == 0 {
		return ErrDecided
	}
	return ofDatabase("record an answer", err)
}

// loseApproval fails the deliveries that wait for an approval and have lost a blob, and adds
// their number to lost.
func loseApproval(t *state.Tx, name string, now time.Time, lost *int64) error {
	ids, err := scanIDs(t.Query(`SELECT DISTINCT delivery FROM part WHERE blob <> '' AND blob LIKE '%' || ? || '%' AND state = 'waiting'`, name))
	for _, id := range ids {
		if err == nil {
			err = AnswerApproval(t, id, AnswerLost, "", now)
		}
		if errors.Is(err, ErrDecided) { // it has expired, and is refused as soon as the outbox runs
			err = nil
			continue
		}
		if err == nil {
			*lost++
			_, err = t.Exec(`UPDATE part SET state = 'failed', code = ?, message = ?, hint = ? WHERE delivery = ?`, codeLostBytes, lostMessage, lostHint, id)
		}
		if err == nil {
			_, err = t.Exec(`UPDATE delivery SET bad = (SELECT count(*) FROM part WHERE delivery = delivery.id), changed = ? WHERE id = ?`, nano(now), id)
		}
	}
	return err
}

// Refuse ends a delivery that waits for an approval: what is AnswerNo or AnswerNone. Error: ErrDecided.
func Refuse(t *state.Tx, r *Record, what, by string, now time.Time) error {
	code, message, hint := CodeNotApproved, "a person looked at it and said no", "do not send it again; ask what to change"
	if what == AnswerNone {
		code, message, hint = CodeApprovalExpired, "nobody said yes to it in time", "ask in the chat whether it is wanted, and then send it again"
	}
	err := AnswerApproval(t, r.ID, what, by, now)
	if err == nil {
		err = blob.Delete(t, r.FileBlobs()...)
	}
	if err == nil {
		_, err = t.Exec(`UPDATE part SET state = 'refused', blob = '', code = ?, message = ?, hint = ? WHERE delivery = ? AND state = 'waiting'`,
			code, message, hint, r.ID)
	}
	if err == nil { // in this commit: when the records are gone, nothing else keeps a link shut
		_, err = t.Exec(`UPDATE link SET expires = 0 WHERE key = ?`, r.Key)
	}
	if err == nil {
		_, err = t.Exec(`UPDATE delivery SET changed = ? WHERE id = ?`, nano(now), r.ID)
	}
	return err
}

// ExpiredApprovals returns the ids of the deliveries that nobody has approved in time.
func (r *Reader) ExpiredApprovals(ctx context.Context, now time.Time) ([]int64, error) {
	return scanIDs(r.db.QueryContext(ctx, `SELECT delivery FROM approval WHERE answer = '' AND expires <= ?`, nano(now)))
}

// NextExpiry returns when the next approval expires; zero if none waits.
func (r *Reader) NextExpiry(ctx context.Context) (time.Time, error) {
	var first int64
	err := r.db.QueryRowContext(ctx, `SELECT coalesce(min(expires), 0) FROM approval WHERE answer = ''`).Scan(&first)
	return fromNano(first), ofDatabase("look for approvals", err)
}
