package bridge

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

const (
	// carriers is how many groups' requests are carried at once, and mostCarried how many
	// requests: those of one commit. Groups of few requests share the wait for the disk.
	carriers    = 32
	mostCarried = 256

	// writers is how many groups' results are written at once: few, as requests come first.
	writers = 2

	// recall is how far back a start writes results again and records outcomes in the
	// trail. RecordMissing records older outcomes.
	recall = 24 * time.Hour
)

// Assistants know in which thread a request was made, and take reports of failures after
// the tool has stopped waiting: *turns.Manager. Run gets them, not New: they need the bridge for their
// answers, so they are made after it.
type Assistants interface {
	// ThreadOf returns the thread of the group's chat to which a request belongs, by its
	// stamp or, if that is empty, by the time when it was written; empty: the chat
	// itself. known is false if no turn of the group has the stamp.
	ThreadOf(folder, stamp string, written time.Time) (thread string, known bool)
	// Knows reports whether the assistant in a thread of the group's chat was given a
	// member's message with this id of the platform.
	Knows(folder, thread, message string) (bool, error)
	// Notify reports something to the assistant in a thread of the group's chat.
	Notify(folder, thread, text string) error
}

// Run carries requests from the spool to the outbox until ctx is done, and
// results back until the outbox's Run has ended and the last result is written.
// So it may return a little after ctx is done. It is called once.
func (b *Bridge) Run(ctx context.Context, assistants Assistants) {
	var working sync.WaitGroup
	room := semaphore.NewWeighted(mostCarried)
	for range carriers {
		working.Go(func() { b.requests(ctx, room, assistants) })
	}
	working.Go(func() { b.watchAsks(ctx) })
	last := context.WithoutCancel(ctx) // the outbox says which result was the last
	if err := b.Outbox.Recall(last, time.Now().Add(-recall)); err != nil {
		b.Log.Error("write results again", "error", err)
	}
	for range writers {
		working.Go(func() { b.results(last, assistants) })
	}
	working.Wait()
}

// requests carries batch by batch until ctx is done.
func (b *Bridge) requests(ctx context.Context, room *semaphore.Weighted, assistants Assistants) {
	for {
		batch, err := b.Spool.Next(ctx)
		if err != nil {
			return
		}
		n := min(int64(len(batch.Items)), mostCarried)
		_ = room.Acquire(context.WithoutCancel(ctx), n) // once ctx is done, the others end soon
		b.Carry(ctx, batch, assistants)
		room.Release(n)
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
	if err == nil {
		err = b.State.LostFiles() // before anything is copied; record looks again
	}
	if err != nil {
		b.postpone(batch, batch.Items, err)
		return
	}
	accepted := acceptance{registry: b.Registry(), refused: map[string]refused{}}
	for i, it := range batch.Items {
		if known[keys[i]] { // recorded before a crash: what is left is to unlink it
			batch.Remove(it)
			continue
		}
		var err error
		if it.Request.Type.IsCall() {
			err = b.answer(ctx, batch, it, keys[i], assistants)
		} else {
			err = b.accept(ctx, it, keys[i], &accepted, assistants)
		}
		if err == nil {
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
		accepted.refused[it.ID] = refused{refusal, it.Request.Conversation}
	}
	b.record(ctx, batch, accepted)
}

// record commits what was accepted, all of it or nothing, and removes it from the queue.
// Requests that their client has withdrawn meanwhile are discarded.
func (b *Bridge) record(ctx context.Context, batch *spool.Batch, accepted acceptance) {
	var standing acceptance
	reloaded := b.Registry() != accepted.registry
	for i, it := range accepted.items {
		if reloaded {
			if refusal := b.revoked(ctx, it, &accepted.deliveries[i]); refusal != nil {
				b.discard(&accepted.deliveries[i].Delivery)
				batch.Refuse(it, refusal)
				continue
			}
		}
		if !batch.Withdrawn(it) {
			standing.add(it, accepted.deliveries[i])
			continue
		}
		b.Log.Debug("request withdrawn", "group", batch.Folder, "request", it.ID)
		b.discard(&accepted.deliveries[i].Delivery)
		batch.Remove(it)
	}
	if len(standing.items) == 0 {
		return
	}
	if err := b.State.LostFiles(); err != nil { // the batch may have taken long
		for i := range standing.deliveries {
			b.discard(&standing.deliveries[i].Delivery)
		}
		b.postpone(batch, standing.items, err)
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

// revoked returns a refusal if the group has lost the right to the delivery's chat, files
// or action since it was accepted, else nil. A delivery that needs an approval since then
// waits for it.
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
	for _, f := range d.AllFiles() {
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

// postpone leaves requests in the queue: the first because of err, which its result names,
// and the others behind it. The operator reads of a fault of the host in the log.
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
