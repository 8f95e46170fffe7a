package bridge

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/bridge/report"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// results writes the results of deliveries that changed,
// group by group, until the outbox has ended. NextChanges hands a group to one
// goroutine at a time and reads the state of its deliveries then: so a state that
// was overtaken before it was written is never written. The other results are
// written by the spool: "queued" by Defer and "refused" by Refuse, before the
// outbox has a record.
func (b *Bridge) results(ctx context.Context, assistants Assistants) {
	for {
		changes, err := b.Outbox.NextChanges(ctx)
		if err != nil {
			return // ErrEnded: all results are written
		}
		b.audit(changes.All)
		b.writeResults(ctx, changes, assistants)
		changes.Done()
	}
}

// writeResults writes the results of one group's deliveries. One that cannot be written comes
// again.
func (b *Bridge) writeResults(ctx context.Context, changes *outbox.Changes, assistants Assistants) {
	var batch []ipc.Result
	var batched []outbox.Change
	stands := b.batched(changes)
	for _, d := range changes.All {
		if d.Past && b.written(d.Delivery, stands) {
			continue
		}
		// A call back to where requests come from, so that the spool need
		// not try deferred requests again and again while there is no room.
		if !d.Open() {
			b.Spool.Wake(d.Folder)
		}
		if d.Request == "" || d.Batch && d.Open() {
			continue
		}
		r := report.Result(d.Delivery)
		b.answers(ctx, &d.Delivery, &r)
		if !d.Again {
			b.tellLate(d.Delivery, r, stands, assistants)
		}
		if d.Batch {
			batch, batched = append(batch, r), append(batched, d)
			continue
		}
		b.repeat(changes, b.Spool.WriteResult(d.Folder, r), d)
	}
	b.repeat(changes, b.Spool.WriteBatch(changes.Folder, batch), batched...)
}

// repeat has deliveries come again whose results could not be written, and logs that once.
// Deliveries of a group that was removed are still sent; nobody reads their results.
func (b *Bridge) repeat(changes *outbox.Changes, err error, all ...outbox.Change) {
	if err == nil || errors.Is(err, spool.ErrNotServed) {
		return
	}
	for _, d := range all {
		if !d.Again {
			b.Log.Error("result not written, tried again every few seconds", "group", changes.Folder, "request", d.Request, "error", err)
		}
		changes.Again(d)
	}
}

// batched returns the statuses in a group's batch files if they matter: some of the
// deliveries are of the past, or have failed.
func (b *Bridge) batched(changes *outbox.Changes) map[string]ipc.Status {
	for _, d := range changes.All {
		if d.Batch && !d.Open() && (d.Past || unsent(report.Result(d.Delivery).Status)) {
			return b.Spool.Batched(changes.Folder)
		}
	}
	return nil
}

// written reports whether the result of a delivery of the past stands already.
func (b *Bridge) written(d records.Delivery, batched map[string]ipc.Status) bool {
	asks := func(p records.Part) bool { return p.Question != nil } // an answer may have come last
	if d.Open() || slices.ContainsFunc(d.Parts, asks) {
		return false
	}
	return b.standing(d, batched) == report.Result(d).Status
}

// standing returns the status in the delivery's written result, else empty.
func (b *Bridge) standing(d records.Delivery, batched map[string]ipc.Status) ipc.Status {
	if d.Batch {
		return batched[d.Request]
	}
	r, _ := b.Spool.Result(d.Folder, d.Request)
	return r.Status
}

// tellLate reports a failure to an assistant whose tool has stopped waiting, before anybody
// sees the new result. It does nothing if the standing result has the failure: a later
// receipt of another part writes it again.
func (b *Bridge) tellLate(d records.Delivery, r ipc.Result, batched map[string]ipc.Status, assistants Assistants) {
	if !unsent(r.Status) || time.Since(d.Asked) <= b.Wait() || r.Status == b.standing(d, batched) {
		return
	}
	if err := assistants.Notify(d.Folder, b.asker(d, assistants), report.LateToAssistant(r)); err != nil {
		b.Log.Info("late failure not reported to an assistant", "group", d.Folder, "request", r.ID, "error", err)
	}
	b.tellMembers(d, r)
}

func unsent(s ipc.Status) bool { return s == ipc.Failed || s == ipc.Uncertain || s == ipc.Refused }

// tellMembers reports a late failure to the group's own chat, if the group wishes so.
func (b *Bridge) tellMembers(d records.Delivery, r ipc.Result) {
	if g, ok := b.Registry().ByFolder(d.Folder); !ok || g.Failures != groups.FailuresToChat || !b.own(&d) {
		return
	}
	if err := b.Tell(context.Background(), d.Folder, d.Thread, report.LateToMembers(&d, r), "late "+r.ID); err != nil {
		b.Log.Error("late failure not reported to the chat", "group", d.Folder, "request", r.ID, "error", err)
	}
}
