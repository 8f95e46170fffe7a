package bridge

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc"
)

// audit notes the outcomes of deliveries that have ended.
func (b *Bridge) audit(changes []outbox.Change) {
	if b.Audit == nil {
		return
	}
	all := make([]audit.Entry, 0, len(changes))
	for _, c := range changes {
		if !c.Open() {
			all = append(all, b.entry(&c.Delivery))
		}
	}
	b.Audit.Add(all...)
}

// auditDecision notes who has answered an approval. d is the delivery as it waited, or as it
// is now.
func (b *Bridge) auditDecision(d *outbox.Delivery, a outbox.Decision) {
	if b.Audit == nil {
		return
	}
	e := b.entry(d)
	e.Event, e.Time, e.Code = audit.NotApproved, a.Time.UTC(), outbox.CodeNotApproved
	if a.Yes {
		e.Event, e.Code = audit.Approved, ""
	}
	e.Message = fmt.Sprintf("answered by %s (rule %s)", b.Audit.Mask(a.By), a.Rule)
	b.Audit.Add(e)
}

// RecordMissing adds to the trail the answers and outcomes that a crash took from it. It leaves the
// outcomes of the last day to Run. It is called once, before Run and before the outbox's Run, which
// at once deletes old records.
func (b *Bridge) RecordMissing(ctx context.Context) error {
	if b.Audit == nil {
		return nil
	}
	since, until := b.Audit.Since(), time.Now().Add(startTime-recall)
	if err := b.repeatDecisions(ctx, since); err != nil {
		return fmt.Errorf("record answers again: %w", err)
	}
	err := b.Outbox.Reader().Ended(ctx, since, until, func(d *outbox.Delivery) { b.Audit.Add(b.entry(d)) })
	if err != nil {
		return fmt.Errorf("record outcomes again: %w", err)
	}
	return nil
}

// startTime is the longest time between RecordMissing and Run.
const startTime = 10 * time.Minute

// repeatDecisions notes the answers since then that a crash took from the trail.
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

func (b *Bridge) entry(d *outbox.Delivery) audit.Entry {
	r := Result(*d)
	e := audit.Entry{
		Event: string(r.Status), Group: d.Folder, Request: d.Request, Delivery: d.Key, Asked: d.Asked.UTC(),
		Channel: d.Channel, Chat: b.Audit.Mask(string(d.Chat)), Thread: d.Thread, Code: r.Code, Message: r.Message,
	}
	if r.Status == ipc.Delivered || r.Status == ipc.Read { // what members did with it later
		e.Event = string(ipc.Sent)
	}
	for _, p := range d.Parts {
		e.Parts = append(e.Parts, auditParts(p)...)
	}
	return e
}

// auditParts are the files of a part, the first with the caption, or its text.
func auditParts(p outbox.Part) (all []audit.Part) {
	o := outcomesOf(p)[0]
	files, link := p.Files, false
	if p.Link != nil {
		files, link = slices.Concat(files, []outbox.File{p.Link.File}), true
	}
	for _, f := range files {
		all = append(all, audit.Part{
			Kind: string(f.Kind), Name: f.Name, Bytes: f.Size, SHA256: f.SHA256, Status: string(o.Status), Code: o.Code, MessageID: o.MessageID, Link: link,
		})
	}
	if len(all) == 0 {
		all = append(all, audit.Part{Kind: o.Kind, Bytes: int64(len(p.Text)), Status: string(o.Status), Code: o.Code, MessageID: o.MessageID})
	}
	all[0].Text = p.Text
	return all
}
