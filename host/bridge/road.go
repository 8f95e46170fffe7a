package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

const (
	// workers is how many groups' requests are carried at once, and how many
	// groups' results are written at once.
	workers = 4

	// recall is how far back results are written again at a start, and outcomes
	// recorded in the trail. The outbox has an older result for the operator, and
	// RecordMissing records an older outcome.
	recall = 24 * time.Hour
)

// Assistants know in which thread a request was made, and are told of failures
// that come after the tool which asked has stopped waiting. They are given to Run,
// not to New: their answers go through the bridge, so they are made after it.
type Assistants interface {
	// Thread is the thread of the group's chat to which a request belongs that
	// bears the stamp, or none, and was written then; empty: the chat itself.
	// known is false if the stamp is of no turn of the group.
	Thread(folder, stamp string, written time.Time) (thread string, known bool)
	// Knows reports whether the assistant in a thread of the group's chat was given a
	// member's message with this id of the platform.
	Knows(folder, thread, message string) (bool, error)
	Notify(folder, thread, text string) error
}

// Run carries requests from the spool to the outbox until ctx is done, and
// results back until the outbox's Run has ended and the last result is written.
// So it may return a little after ctx is done. It is called once.
func (b *Bridge) Run(ctx context.Context, assistants Assistants) {
	var working sync.WaitGroup
	for range workers {
		working.Go(func() { b.requests(ctx, assistants) })
	}
	last := context.WithoutCancel(ctx) // the outbox says which result was the last
	if err := b.Outbox.Recall(last, time.Now().Add(-recall)); err != nil {
		b.Log.Error("write results again", "error", err)
	}
	for range workers {
		working.Go(func() { b.results(last, assistants) })
	}
	working.Wait()
}

// requests is the way there, batch by batch until ctx is done.
func (b *Bridge) requests(ctx context.Context, assistants Assistants) {
	for {
		batch, err := b.Spool.Next(ctx)
		if err != nil {
			return
		}
		b.Carry(ctx, batch, assistants)
	}
}

// Carry takes a batch of one group's requests all the way into the outbox, in
// order: each is accepted, refused or deferred. All that are accepted are
// recorded in one commit, and leave the queue only then. If one has to wait,
// all that follow it wait too, so that nothing overtakes.
func (b *Bridge) Carry(ctx context.Context, batch *spool.Batch, assistants Assistants) {
	defer batch.Done()
	keys := keysOf(batch)
	known, err := b.Outbox.Reader().Known(ctx, keys)
	if err != nil {
		b.postpone(batch, batch.Items, err)
		return
	}
	accepted := acceptance{registry: b.Registry()}
	for i, it := range batch.Items {
		if known[keys[i]] { // recorded before a crash: what is left is to unlink it
			batch.Remove(it)
			continue
		}
		if it.Request.Type.IsCall() {
			if err := b.answer(ctx, batch, it, keys[i], assistants); err != nil {
				b.postpone(batch, batch.Items[i:], err)
				break
			}
			continue
		}
		delivery, err := b.accept(ctx, it, keys[i], &accepted, assistants)
		if err == nil {
			accepted.add(it, delivery)
			continue
		}
		refusal := finalRefusal(err)
		if refusal == nil {
			b.postpone(batch, batch.Items[i:], err)
			break
		}
		// The spool logs the refusal; its cause may say more.
		b.Log.Debug("request refused", "group", batch.Folder, "request", it.ID, "code", refusal.Code, "error", err)
		batch.Refuse(it, refusal)
		accepted.refuse(it, refusal)
	}
	b.record(ctx, batch, accepted)
}

// acceptance is what was accepted of a batch and is not recorded yet.
type acceptance struct {
	registry   *groups.Registry // as it was before the first
	items      []*spool.Item
	deliveries []judged // one for each item
	load       outbox.Load
	refused    map[string]refused // by the request's id
}

// refused is why a request of the batch was refused, and which conversation had asked.
type refused struct {
	why   *ipc.Refusal
	bound string
}

func (a *acceptance) refuse(it *spool.Item, why *ipc.Refusal) {
	if a.refused == nil {
		a.refused = map[string]refused{}
	}
	a.refused[it.ID] = refused{why, it.Request.Conversation}
}

func (a *acceptance) add(it *spool.Item, d judged) {
	a.items = append(a.items, it)
	a.deliveries = append(a.deliveries, d)
	more := loadOf(&d.Delivery)
	a.load.Parts += more.Parts
	a.load.Bytes += more.Bytes
	a.load.Questions += more.Questions
	a.load.Links += more.Links
	a.load.Waiting += more.Waiting
	a.load.Held += more.Held
}

// record makes what was accepted durable, all of it or nothing, and takes it
// out of the queue. What its client has withdrawn meanwhile is forgotten.
func (b *Bridge) record(ctx context.Context, batch *spool.Batch, accepted acceptance) {
	var standing acceptance
	reloaded := b.Registry() != accepted.registry
	for i, it := range accepted.items {
		if reloaded {
			if refusal := b.revoked(ctx, it, &accepted.deliveries[i]); refusal != nil {
				b.discard(accepted.deliveries[i].Delivery)
				batch.Refuse(it, refusal)
				continue
			}
		}
		if !batch.Withdrawn(it) {
			standing.add(it, accepted.deliveries[i])
			continue
		}
		b.Log.Debug("request withdrawn", "group", batch.Folder, "request", it.ID)
		b.discard(accepted.deliveries[i].Delivery)
		batch.Remove(it)
	}
	if len(standing.items) == 0 {
		return
	}
	if err := b.put(ctx, standing.deliveries...); err != nil { // the blobs are the outbox's to remove
		b.postpone(batch, standing.items, err)
		return
	}
	for _, it := range standing.items {
		b.Trace(batch.Folder, it.ID, "recorded")
		batch.Remove(it)
	}
}

// revoked is the refusal of a delivery whose group had the right to its chat, to send its
// files or to its action, before they were copied, and has it no longer; nil: it has. A delivery
// that needs an approval by now gets it to wait for.
func (b *Bridge) revoked(ctx context.Context, it *spool.Item, d *judged) *ipc.Refusal {
	dst, err := b.authorize(it.Folder, it.Request)
	if err != nil {
		return AsRefusal(err)
	}
	if dst.chat != d.Chat || dst.channel.Name() != d.Channel {
		return &ipc.Refusal{
			Code: groups.CodeChatNotAllowed, Message: "the group's chat has changed meanwhile", Hint: "call again if this is meant for the new chat",
		}
	}
	if err := dst.stillAllows(d.Parts); err != nil {
		return AsRefusal(err)
	}
	for _, f := range filesOf(&d.Delivery) {
		if err := dst.permit(f.Info); err != nil {
			return AsRefusal(err)
		}
	}
	if d.Approval == nil {
		if *d, err = b.judge(ctx, dst, d.Delivery, outbox.Load{}); err != nil { // nothing goes that was not looked at
			return cmp.Or(AsRefusal(err), &ipc.Refusal{Code: "not_recorded", Message: "the host cannot read what it has sent before", Hint: "call again"})
		}
	}
	return nil
}

// postpone leaves requests in the queue, the first for that reason, which its result has,
// and the others behind it. A fault of the host is for the operator to read.
func (b *Bridge) postpone(batch *spool.Batch, items []*spool.Item, err error) {
	why := &ipc.Refusal{
		Code:    "not_recorded",
		Message: "the host cannot record deliveries at the moment",
		Hint:    "it is taken by itself once the operator has seen to that; do not call again",
	}
	full, isFull := errors.AsType[*outbox.FullError](err)
	switch {
	case isFull:
		why = AsRefusal(full)
		b.Log.Warn("requests wait", "group", batch.Folder, "request", items[0].ID, "count", len(items), "error", full, "cause", full.Cause)
	case errors.Is(err, context.Canceled): // the host is ending, and the next one takes them
		why = nil
	default:
		b.Log.Error("requests not accepted, will be tried again", "group", batch.Folder, "request", items[0].ID, "count", len(items), "error", err)
	}
	batch.Defer(items[0], why)
}

// results is the way back: it writes the results of deliveries that changed,
// group by group, until the outbox has ended. Next hands a group to one
// goroutine at a time and reads the state of its deliveries then: so a state that
// was overtaken before it was written is never written. The other results are
// written by the spool: "queued" by Defer and "refused" by Refuse, before the
// outbox has a record.
func (b *Bridge) results(ctx context.Context, assistants Assistants) {
	for {
		changes, err := b.Outbox.Next(ctx)
		if err != nil {
			return // ErrEnded: all results are written
		}
		b.audit(changes.All)
		b.report(ctx, changes, assistants)
		changes.Done()
	}
}

// report writes the results of one group's deliveries. One that cannot be written comes
// again.
func (b *Bridge) report(ctx context.Context, changes *outbox.Changes, assistants Assistants) {
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
		b.askApprovers(ctx, &d.Delivery)
		r := Result(d.Delivery)
		b.answers(ctx, &d.Delivery, &r)
		if d.Request == "" || d.Batch && d.Open() {
			continue
		}
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

// batched is what stands in a group's batch files, if it matters: some of the
// deliveries are of the past, or have failed.
func (b *Bridge) batched(changes *outbox.Changes) map[string]ipc.Status {
	for _, d := range changes.All {
		if d.Batch && !d.Open() && (d.Past || unsent(Result(d.Delivery).Status)) {
			return b.Spool.Batched(changes.Folder)
		}
	}
	return nil
}

// written says whether the result of a delivery of the past stands already.
func (b *Bridge) written(d outbox.Delivery, batched map[string]ipc.Status) bool {
	asks := func(p outbox.Part) bool { return p.Question != nil } // an answer may have come last
	if d.Open() || slices.ContainsFunc(d.Parts, asks) {
		return false
	}
	return b.standing(d, batched) == Result(d).Status
}

// standing is the status in the delivery's result, or empty.
func (b *Bridge) standing(d outbox.Delivery, batched map[string]ipc.Status) ipc.Status {
	if d.Batch {
		return batched[d.Request]
	}
	r, _ := b.Spool.Result(d.Folder, d.Request)
	return r.Status
}

// tellLate tells an assistant, whose tool has stopped waiting, of a failure that the
// standing result does not tell of, before anybody sees the new one. A later receipt of
// another part writes the same failure again.
func (b *Bridge) tellLate(d outbox.Delivery, r ipc.Result, batched map[string]ipc.Status, assistants Assistants) {
	if !unsent(r.Status) || time.Since(d.Asked) <= b.Wait() || r.Status == b.standing(d, batched) {
		return
	}
	if err := assistants.Notify(d.Folder, b.asker(d, assistants), lateWords(r)); err != nil {
		b.Log.Info("late failure not reported to an assistant", "group", d.Folder, "request", r.ID, "error", err)
	}
	b.tellMembers(d, r)
}

func unsent(s ipc.Status) bool { return s == ipc.Failed || s == ipc.Uncertain || s == ipc.Refused }

// tellMembers reports a late failure to the group's own chat, if the group wishes so.
func (b *Bridge) tellMembers(d outbox.Delivery, r ipc.Result) {
	g, ok := b.Registry().ByFolder(d.Folder)
	if !ok || g.Failures != groups.FailuresToChat || !b.own(&d) {
		return
	}
	if err := b.Tell(context.Background(), d.Folder, d.Thread, memberWords(d, r), "late "+r.ID); err != nil {
		b.Log.Error("late failure not reported to the chat", "group", d.Folder, "request", r.ID, "error", err)
	}
}

func memberWords(d outbox.Delivery, r ipc.Result) string {
	var names []string
	for _, p := range d.Parts {
		for _, f := range p.Files {
			names = append(names, f.Name)
		}
	}
	what := "a message of the assistant"
	if len(names) > 0 {
		what = strings.Join(names[:min(len(names), 5)], ", ")
	}
	if r.Status == ipc.Uncertain {
		return "It is not certain that this arrived: " + what + ". " + r.Message
	}
	return "This could not be sent: " + what + ". " + r.Message
}

func lateWords(r ipc.Result) string {
	words := fmt.Sprintf("delivery %s ended as %s after you stopped waiting: %s", r.ID, r.Status, r.Message)
	if r.Hint != "" {
		words += "; " + r.Hint
	}
	return words
}
