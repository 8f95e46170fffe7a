package outbox

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// Approval is what a delivery waits for before any of it is sent: somebody's yes. Such a
// delivery is durable and has its bytes as every other, but it is in no lane: later
// deliveries of its chat pass it, and after the yes it goes behind those that wait.
type Approval struct {
	ID      string    // 32 lower-case hex digits that nobody can guess; filled by Put
	Rule    string    // that asks for it, such as approve.above
	Expires time.Time // no answer counts from then on
}

// The answers that are recorded.
const (
	answerYes  = "yes"
	answerNo   = "no"
	answerNone = "none" // nobody answered in time
	answerLost = "lost" // the bytes were gone
)

// ErrDecided is Decide's error if the approval is answered or over, or there is none.
var ErrDecided = errors.New("the delivery waits for no approval, or no longer")

// waiting reports whether the delivery waits for an approval.
func (d *Delivery) waiting() bool {
	return slices.ContainsFunc(d.Parts, func(p Part) bool { return p.State == Waiting })
}

// await makes all parts wait for the delivery's approval.
func (it *item) await() error {
	a := *it.Approval
	if a.Rule == "" || a.Expires.IsZero() {
		return fmt.Errorf("delivery %s asks for an approval that is not whole", it.Key)
	}
	if a.ID == "" {
		id := make([]byte, 16)
		rand.Read(id)
		a.ID = hex.EncodeToString(id)
	}
	it.Approval = &a
	for i := range it.Parts {
		p := &it.Parts[i]
		p.State, p.Code = Waiting, CodeAwaiting
		p.Message = fmt.Sprintf("it waits until a person says yes or no to it (rule %s), at most until %s", a.Rule, a.Expires.UTC().Format("2006-01-02 15:04 MST"))
		p.Hint = "there is nothing to do; do not send it again"
	}
	return nil
}

// insertApproval records what a new delivery waits for.
func insertApproval(t *state.Tx, it *item, now time.Time) error {
	if it.Approval == nil {
		return nil
	}
	p := &it.Parts[0]
	_, err := t.Exec(`UPDATE part SET code = ?, message = ?, hint = ? WHERE delivery = ?`, p.Code, p.Message, p.Hint, it.id)
	if err == nil {
		_, err = t.Exec(`INSERT INTO approval (id, delivery, rule, made, expires) VALUES (?, ?, ?, ?, ?)`,
			it.Approval.ID, it.id, it.Approval.Rule, nano(now), nano(it.Approval.Expires))
	}
	return ofDatabase("record an approval", err)
}

// setAside adds a new delivery that waits for an approval. The caller holds mu.
func (o *Outbox) setAside(it *item) {
	o.use(it.Folder, it.usage())
	o.changed(it)
	signal(o.approving)
}

// usage returns what all parts of a delivery count while it waits for an approval.
func (it *item) usage() usage {
	u := usage{waiting: len(it.Parts)}
	for i := range it.Parts {
		u.waitingBytes += it.Parts[i].Size()
	}
	return u
}

func (u usage) negative() usage { return usage{waiting: -u.waiting, waitingBytes: -u.waitingBytes} }

// RoomToWait returns nil if a group may have more waiting for approvals. It may have as
// much as it may have open, and none of that is taken from what it may have open: people
// may take a day, and later requests do not wait for them. So the error, when there is no
// room, is a refusal. ahead is what the caller has accepted and not yet passed to Put.
func (o *Outbox) RoomToWait(folder string, ahead, more Load) error {
	most := o.limits()
	o.mu.Lock()
	u := o.usage[folder]
	o.mu.Unlock()
	parts, bytes := u.waiting+ahead.Waiting, u.waitingBytes+ahead.WaitingBytes
	if parts > 0 && (parts+more.Waiting > most.QuotaPending || bytes+more.WaitingBytes > most.QuotaBytes) {
		return &refusal.Error{
			Code: "approvals_full", Message: fmt.Sprintf("%d messages of this group already wait for an approval", parts),
			Hint: "wait until somebody has answered, or ask the operator",
		}
	}
	return nil
}

// Decide records the answer to the approval that a delivery waits for, and who gave it.
// After a yes the delivery goes behind the waiting ones of its chat, with a deadline of
// its own; after a no it is Refused, and its bytes are deleted. Of several answers the
// first counts. Errors: ErrNotFound, ErrAmbiguous, ErrDecided, ErrNoBytes.
func (o *Outbox) Decide(ctx context.Context, name string, yes bool, by string) error {
	it, err := o.reader.find(ctx, name)
	if err != nil {
		return err
	}
	if !yes {
		err := o.refuse(ctx, it, answerNo, by)
		o.mayBeOver(err)
		return err
	}
	var approved *item
	err = o.state.Do(ctx, func(t *state.Tx) error {
		err := answer(t, it.id, answerYes, by, time.Now())
		if err == nil {
			approved, _, err = o.requeue(t, it.id, Waiting)
		}
		return err
	}, func() {
		o.opts.Trace(approved.Folder, approved.Request, "answered")
		o.mu.Lock()
		defer o.mu.Unlock()
		o.answers[answerYes]++
		o.use(approved.Folder, approved.usage().negative())
		delete(o.live, approved.id)
		o.accept(approved)
		o.ask(approved)
		o.changed(approved)
	})
	if err != nil {
		o.mayBeOver(err)
		return fmt.Errorf("approve %s: %w", it.Key, err)
	}
	o.poke()
	return nil
}

// mayBeOver has endApprovals look at once after an answer that came too late: it may not
// have noticed yet that the clock was set ahead.
func (o *Outbox) mayBeOver(err error) {
	if errors.Is(err, ErrDecided) {
		signal(o.approving)
	}
}

// answer records an answer, once and in time.
func answer(t *state.Tx, delivery int64, what, by string, now time.Time) error {
	n, err := t.Changed(`UPDATE approval SET answer = ?1, by = ?2, answered = ?3
		WHERE delivery = ?4 AND answer = '' AND (expires > ?3 OR ?1 = 'none')`, what, by, nano(now), delivery)
	if err == nil && n == 0 {
		return ErrDecided
	}
	return ofDatabase("record an answer", err)
}

// refuse ends a delivery that waits for an approval.
func (o *Outbox) refuse(ctx context.Context, it *item, what, by string) error {
	code, message, hint := CodeNotApproved, "a person looked at it and said no", "do not send it again; ask what to change"
	if what == answerNone {
		code, message, hint = CodeApprovalExpired, "nobody said yes to it in time", "ask in the chat whether it is wanted, and then send it again"
	}
	err := o.state.Do(ctx, func(t *state.Tx) error {
		now := time.Now()
		err := answer(t, it.id, what, by, now)
		if err == nil {
			err = blob.Delete(t, it.fileBlobs()...)
		}
		if err == nil {
			_, err = t.Exec(`UPDATE part SET state = 'refused', blob = '', code = ?, message = ?, hint = ? WHERE delivery = ? AND state = 'waiting'`,
				code, message, hint, it.id)
		}
		if err == nil { // in this commit: when the records are gone, nothing else keeps a link shut
			_, err = t.Exec(`UPDATE link SET expires = 0 WHERE key = ?`, it.Key)
		}
		if err == nil {
			_, err = t.Exec(`UPDATE delivery SET changed = ? WHERE id = ?`, nano(now), it.id)
		}
		return err
	}, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.answers[what]++
		o.use(it.Folder, it.usage().negative())
		delete(o.live, it.id)
		o.changes.add(it.Folder, it.id, markNew)
	})
	if err != nil {
		return fmt.Errorf("refuse %s: %w", it.Key, err)
	}
	o.removeBlobs(it.fileBlobs()...)
	all := make([]int, len(it.Parts))
	for i := range all {
		all[i] = i
	}
	o.endLinksOf(ctx, it, all)
	return nil
}

// fileBlobs returns the names of the bytes of the parts' own files.
func (d *Delivery) fileBlobs() (names []string) {
	for i := range d.Parts {
		names = append(names, d.Parts[i].blobs()...)
	}
	return names
}

// loseApproval fails the deliveries that wait for an approval and have lost a blob, and adds
// their number to lost.
func loseApproval(t *state.Tx, name string, now time.Time, lost *int64) error {
	ids, err := scanIDs(t.Query(`SELECT DISTINCT delivery FROM part WHERE blob <> '' AND blob LIKE '%' || ? || '%' AND state = 'waiting'`, name))
	for _, id := range ids {
		if err == nil {
			err = answer(t, id, answerLost, "", now)
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

// endApprovals refuses what nobody has approved in time, until ctx is done.
func (o *Outbox) endApprovals(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-o.approving:
		}
		next, err := o.expireApprovals(ctx, time.Now())
		if err != nil && ctx.Err() == nil {
			o.opts.Log.Error("refuse what nobody has approved", "error", err)
			next = time.Now().Add(time.Minute)
		}
		if !next.IsZero() { // a clock that was set back is noticed within a minute
			timer.Reset(min(max(time.Until(next), 0), time.Minute))
		}
	}
}

// expireApprovals returns when the next approval expires; zero if none waits.
func (o *Outbox) expireApprovals(ctx context.Context, now time.Time) (next time.Time, err error) {
	over, err := scanIDs(o.state.QueryContext(ctx, `SELECT delivery FROM approval WHERE answer = '' AND expires <= ?`, nano(now)))
	if err != nil {
		return next, err
	}
	for _, id := range over {
		it, err := o.reader.byID(ctx, id)
		if err == nil {
			err = o.refuse(ctx, it, answerNone, "")
		}
		if err != nil && !errors.Is(err, ErrDecided) && !errors.Is(err, ErrNotFound) {
			return next, err
		}
	}
	var first int64
	err = o.state.QueryRowContext(ctx, `SELECT coalesce(min(expires), 0) FROM approval WHERE answer = ''`).Scan(&first)
	return fromNano(first), ofDatabase("look for approvals", err)
}

// SentFile reports whether a file of the group has reached a chat, as far as the records
// go back.
func (r *Reader) SentFile(ctx context.Context, folder string) (found bool, err error) {
	err = r.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM delivery d JOIN part p ON p.delivery = d.id
		WHERE d.folder = ? AND p.file <> '' AND p.state IN ('sent', 'delivered', 'read'))`, folder).Scan(&found)
	return found, ofDatabase("look for deliveries", err)
}
