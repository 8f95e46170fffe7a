package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/bridge/report"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
)

// audit records the outcomes of deliveries that have ended.
func (b *Bridge) audit(changes []outbox.Change) {
	if b.Audit == nil {
		return
	}
	all := make([]audit.Entry, 0, len(changes))
	for _, c := range changes {
		if !c.Open() {
			all = append(all, report.Entry(b.Audit, &c.Delivery))
		}
	}
	b.Audit.Add(all...)
}

// unanswered says who has answered what no person has.
var unanswered = map[string]string{
	records.AnswerNone:      "nobody, in time",
	records.AnswerGone:      "nobody: the session has ended, or cannot be reached",
	records.AnswerWithdrawn: "the operator, who does not let the session ask any more",
}

// auditAsk records who has answered an approval, and how a permission ended.
func (b *Bridge) auditAsk(ctx context.Context, a *records.Ask) error {
	e, about := audit.Entry{Group: a.Folder, Thread: a.Thread, Delivery: a.Key}, ""
	switch {
	case a.Policy == records.PolicyPermission:
		var p ipc.Permission
		if err := json.Unmarshal([]byte(a.About), &p); err != nil {
			return err
		}
		about = fmt.Sprintf("tool %s of the session elsewhere: ", report.Quote(p.Tool, report.ToolName))
	case a.Policy == records.PolicyApproval && a.By != "":
		d, err := b.Outbox.Get(ctx, a.Key)
		if err != nil {
			return err
		}
		e = report.Entry(b.Audit, &d)
	default: // the delivery's own entry says it
		return nil
	}
	e.Event, e.Time, e.Code = audit.NotApproved, a.Time.UTC(), records.CodeNotApproved
	if a.Answer == records.AnswerYes {
		e.Event, e.Code = audit.Approved, ""
	}
	e.Message = fmt.Sprintf("%sanswered by %s (rule %s)", about, cmp.Or(unanswered[a.Answer], b.Audit.Mask(a.By)), a.Rule)
	b.Audit.Add(e)
	return nil
}

// RecordMissing adds the answers and outcomes to the trail that a crash took from it, but
// for the outcomes of the last day, which Run adds. It is called once, before the outbox
// deletes old records. Run may be under way.
func (b *Bridge) RecordMissing(ctx context.Context) error {
	if b.Audit == nil {
		return nil
	}
	since, until := b.Audit.Since(), time.Now().Add(startTime-recall)
	if err := b.repeatDecisions(ctx, since); err != nil {
		return fmt.Errorf("record answers again: %w", err)
	}
	err := b.Outbox.Reader().Ended(ctx, since, until, func(d *records.Delivery) { b.Audit.Add(report.Entry(b.Audit, d)) })
	if err != nil {
		return fmt.Errorf("record outcomes again: %w", err)
	}
	return nil
}

// startTime is the longest time between RecordMissing and Run, whichever comes first.
const startTime = 10 * time.Minute

// repeatDecisions records the answers since then that a crash took from the trail.
func (b *Bridge) repeatDecisions(ctx context.Context, since time.Time) error {
	all, err := b.Outbox.Reader().AsksAnswered(ctx, since)
	for i := range all {
		err = errors.Join(err, b.auditAsk(ctx, &all[i]))
	}
	return err
}
