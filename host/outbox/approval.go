package outbox

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/host/outbox/changes"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

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
		p.State, p.Code = records.Waiting, records.CodeAwaiting
		p.Message = fmt.Sprintf("it waits until a person says yes or no to it (rule %s), at most until %s", a.Rule, a.Expires.UTC().Format("2006-01-02 15:04 MST"))
		p.Hint = "there is nothing to do; do not send it again"
	}
	return nil
}

// setAside adds a new delivery that waits for an approval. The caller holds mu.
func (o *Outbox) setAside(it *item) {
	o.use(it.Folder, it.Waiting())
	o.changed(it)
	signal(o.approving)
}

// RoomToWait returns nil if a group may have more waiting for approvals. It may have as
// much as it may have open, and none of that is taken from what it may have open: people
// may take a day, and later requests do not wait for them. So the error, when there is no
// room, is a refusal. ahead is what the caller has accepted and not yet passed to Put.
func (o *Outbox) RoomToWait(folder string, ahead, more Load) error {
	most := o.limits()
	o.mu.Lock()
	u := o.usage[folder]
	o.mu.Unlock()
	parts, bytes := u.Waiting+ahead.Waiting, u.WaitingBytes+ahead.WaitingBytes
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
	it, err := o.reader.Find(ctx, name)
	if err != nil {
		return err
	}
	if !yes {
		err := o.refuse(ctx, it, records.AnswerNo, by)
		o.mayBeOver(err)
		return err
	}
	var approved *item
	err = o.state.Do(ctx, func(t *state.Tx) error {
		err := records.AnswerApproval(t, it.ID, records.AnswerYes, by, time.Now())
		if err == nil {
			approved, _, err = o.requeue(t, it, records.Waiting)
		}
		return err
	}, func() {
		o.opts.Trace(approved.Folder, approved.Request, "answered")
		o.mu.Lock()
		defer o.mu.Unlock()
		o.answers[records.AnswerYes]++
		o.use(approved.Folder, approved.Waiting().Negative())
		delete(o.live, approved.ID)
		o.accept(approved)
		o.ask(&approved.Record)
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
	if errors.Is(err, records.ErrDecided) {
		signal(o.approving)
	}
}

// refuse ends a delivery that waits for an approval.
func (o *Outbox) refuse(ctx context.Context, it *records.Record, what, by string) error {
	err := o.state.Do(ctx, func(t *state.Tx) error {
		return records.Refuse(t, it, what, by, time.Now())
	}, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.answers[what]++
		o.use(it.Folder, it.Waiting().Negative())
		delete(o.live, it.ID)
		o.changes.Add(it.Folder, it.ID, changes.New)
	})
	if err != nil {
		return fmt.Errorf("refuse %s: %w", it.Key, err)
	}
	o.removeBlobs(it.FileBlobs()...)
	all := make([]int, len(it.Parts))
	for i := range all {
		all[i] = i
	}
	o.endLinksOf(ctx, it, all)
	return nil
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
	over, err := o.reader.ExpiredApprovals(ctx, now)
	if err != nil {
		return next, err
	}
	for _, id := range over {
		it, err := o.reader.Record(ctx, id)
		if err == nil {
			err = o.refuse(ctx, it, records.AnswerNone, "")
		}
		if err != nil && !errors.Is(err, records.ErrDecided) && !errors.Is(err, records.ErrNotFound) {
			return next, err
		}
	}
	return o.reader.NextExpiry(ctx)
}
