package outbox

import (
	"cmp"
	"context"
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
	a.ID, a.Policy, a.Folder, a.Thread = cmp.Or(a.ID, RandomID()), records.PolicyApproval, it.Folder, it.Thread
	it.Approval = &a
	for i := range it.Parts {
		p := &it.Parts[i]
		p.State, p.Code = records.Waiting, records.CodeAwaiting
		p.Message = fmt.Sprintf("it waits until a person says yes or no to it (rule %s), at most until %s", a.Rule, a.Expires.UTC().Format("2006-01-02 15:04 MST"))
		p.Hint = "there is nothing to do; do not send it again"
	}
	return nil
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

// Approval returns what a delivery waits for, or waited. name is as for [Outbox.Get]. The error
// is ErrDecided if it waits for nothing.
func (o *Outbox) Approval(ctx context.Context, name string) (*records.Ask, error) {
	it, err := o.reader.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	a, err := o.reader.Approval(ctx, it.Key)
	if errors.Is(err, records.ErrNotFound) {
		err = records.ErrDecided
	}
	return a, err
}

// decide ends an approval.
func (o *Outbox) decide(ctx context.Context, a *records.Ask, what, by string) error {
	it, err := o.reader.Record(ctx, a.Delivery)
	if err != nil {
		return err
	}
	if what != records.AnswerYes {
		return o.refuse(ctx, it, a, what, by)
	}
	var approved *item
	err = o.state.Do(ctx, func(t *state.Tx) error {
		err := records.AnswerAsk(t, a.ID, what, by, time.Now())
		if err == nil {
			approved, _, err = o.requeue(t, it, records.Waiting)
		}
		return err
	}, func() {
		o.opts.Trace(approved.Folder, approved.Request, "answered")
		o.mu.Lock()
		defer o.mu.Unlock()
		o.answers[what]++
		o.use(approved.Folder, approved.Waiting().Negative())
		delete(o.live, approved.ID)
		o.accept(approved)
		o.changed(approved)
	})
	if err != nil {
		return fmt.Errorf("approve %s: %w", it.Key, err)
	}
	o.poke()
	return nil
}

// refuse ends a delivery that waits for an approval.
func (o *Outbox) refuse(ctx context.Context, it *records.Record, a *records.Ask, what, by string) error {
	err := o.state.Do(ctx, func(t *state.Tx) error {
		return records.Refuse(t, it, a.ID, what, by, time.Now())
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
