package bridge

import (
	"context"
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/bridge/report"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
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

// auditDecision records who has answered an approval. d is the delivery as it waited, or
// as it is now.
func (b *Bridge) auditDecision(d *records.Delivery, a records.Decision) {
	e := report.Entry(b.Audit, d)
	e.Event, e.Time, e.Code = audit.NotApproved, a.Time.UTC(), records.CodeNotApproved
	if a.Yes {
		e.Event, e.Code = audit.Approved, ""
	}
	e.Message = fmt.Sprintf("answered by %s (rule %s)", b.Audit.Mask(a.By), a.Rule)
	b.Audit.Add(e)
}

// RecordMissing adds the answers and outcomes to the trail that a crash took from it, but
// for the outcomes of the last day, which Run adds. It is called once, before Run and
// before the outbox's Run, which deletes old records at once.
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

// startTime is the longest time between RecordMissing and Run.
const startTime = 10 * time.Minute

// repeatDecisions records the answers since then that a crash took from the trail.
func (b *Bridge) repeatDecisions(ctx context.Context, since time.Time) error {
	all, err := b.Outbox.Reader().DecisionsSince(ctx, since)
	for _, a := range all {
		d, failed := b.Outbox.Get(ctx, a.Key)
		if failed != nil {
			return failed
		}
		b.auditDecision(&d, a)
	}
	return err
}
