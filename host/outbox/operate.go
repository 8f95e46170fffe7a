package outbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/outbox/changes"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// Retry puts the failed or uncertain parts of a delivery behind the chat's waiting
// deliveries, with a new deadline and the same message ids. A part that ended as uncertain
// because nobody could be asked is sent once more, because the operator asks for it.
// Errors: ErrNotFound, ErrAmbiguous, ErrOpen, ErrNoBytes, and ErrSettled if no part
// failed.
func (o *Outbox) Retry(ctx context.Context, name string) error {
	it, err := o.reader.Find(ctx, name)
	if err != nil {
		return err
	}
	var retried *item
	var freed int64
	err = o.state.Do(ctx, func(t *state.Tx) error {
		var err error
		retried, freed, err = o.requeue(t, it, records.Failed, records.Uncertain)
		return err
	}, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.use(retried.Folder, records.Usage{Retained: -freed})
		delete(o.live, retried.ID) // its old state, if NextChanges has not returned it yet
		o.accept(retried)
		o.changed(retried)
	})
	if err != nil {
		return fmt.Errorf("retry %s: %w", it.Key, err)
	}
	o.poke()
	return nil
}

// requeue makes the parts in some states open, in the record and in a new item. freed is
// the size of their files.
func (o *Outbox) requeue(t *state.Tx, of *records.Record, from ...records.State) (_ *item, freed int64, err error) {
	now := time.Now()
	r, freed, err := records.Requeue(t, of.ID, o.heldTotal(of.Channel, now), now, from...)
	if err != nil {
		return nil, 0, err
	}
	return itemOf(r), freed, nil
}

// Cancel cancels a delivery for an operator: parts that are not sent yet become Cancelled.
// One that waits for an approval gets a no.
// Errors: ErrNotFound, ErrAmbiguous, ErrSettled, and ErrSending while a part is being
// sent.
func (o *Outbox) Cancel(ctx context.Context, name string) error {
	it, err := o.reader.Find(ctx, name)
	if err != nil {
		return err
	}
	if it.Waits() {
		a, err := o.Approval(ctx, it.Key)
		if err != nil {
			return err
		}
		return o.Answer(ctx, a, records.AnswerNo, "operator")
	}
	ln, from, err := o.block(it)
	if err != nil {
		return fmt.Errorf("drop %s: %w", it.Key, err)
	}
	var cancelled []int
	err = o.state.Do(ctx, func(t *state.Tx) error {
		var err error
		cancelled, err = records.Cancel(t, it, from, time.Now())
		return err
	}, func() { o.cancelled(ln, it, cancelled) })
	o.unblock(ln)
	if err != nil {
		return fmt.Errorf("drop %s: %w", it.Key, err)
	}
	for _, i := range cancelled {
		o.removeBlobs(it.Parts[i].Blobs()...)
	}
	o.endLinksOf(ctx, it, cancelled)
	return nil
}

// cancelled updates memory after a cancellation was recorded.
func (o *Outbox) cancelled(ln *lane, it *records.Record, parts []int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	live := o.live[it.ID]
	for _, i := range parts {
		o.use(it.Folder, records.Usage{Parts: -1, Bytes: -it.Parts[i].Size()})
		if live != nil {
			live.Parts[i] = live.Parts[i].Cancelled()
		}
	}
	if live != nil {
		live.pos = len(live.Parts)
		if at := slices.Index(ln.heads, live); at >= 0 {
			ln.heads = slices.Delete(ln.heads, at, at+1)
			o.buffered--
		}
	}
	ln.count--
	ln.epoch++
	o.changes.Add(it.Folder, it.ID, changes.New)
}

// Dismiss removes a failed or uncertain delivery from the list of failures: an operator
// has seen it and will not retry it. Its record stays; the bytes that were kept for a
// retry are deleted. Errors: ErrNotFound, ErrAmbiguous, ErrOpen, and ErrSettled if no part
// failed.
func (o *Outbox) Dismiss(ctx context.Context, name string) error {
	it, err := o.reader.Find(ctx, name)
	if err != nil {
		return err
	}
	if it.Open() {
		return fmt.Errorf("dismiss %s: %w", it.Key, records.ErrOpen)
	}
	err = o.deleteBytes(ctx, func(t *state.Tx) ([]records.Kept, error) { return records.Dismiss(t, it.ID, time.Now()) })
	if err != nil {
		return fmt.Errorf("dismiss %s: %w", it.Key, err)
	}
	return nil
}

// sweep deletes what is kept no longer, at the start and each hour, beside the sends: at a start there may be much.
func (o *Outbox) sweep(ctx context.Context) {
	if o.opts.Sweep != nil {
		select {
		case <-o.opts.Sweep:
		case <-ctx.Done():
		}
	}
	for ctx.Err() == nil {
		o.expire(ctx, time.Now())
		o.expireLinks(ctx, time.Now())
		wake.Sleep(ctx, time.Hour)
	}
}

// expire deletes the records of deliveries that ended longer ago than Retention.
func (o *Outbox) expire(ctx context.Context, now time.Time) {
	for more := true; more && ctx.Err() == nil; {
		err := o.deleteBytes(context.Background(), func(t *state.Tx) (gone []records.Kept, err error) {
			gone, more, err = records.Expire(t, now.Add(-o.limits().Retention))
			return gone, err
		})
		if err != nil {
			o.opts.Log.Error("forget old deliveries", "error", err)
			return
		}
	}
}

// evict deletes a group's oldest failed files until the rest fit the group's quota.
func (o *Outbox) evict(folder string) {
	for more := true; more; {
		o.mu.Lock()
		over := o.usage[folder].Retained - o.limits().QuotaBytes
		o.mu.Unlock()
		if over <= 0 {
			return
		}
		err := o.deleteBytes(context.Background(), func(t *state.Tx) (gone []records.Kept, err error) {
			gone, more, err = records.Evict(t, folder, over)
			return gone, err
		})
		if err != nil {
			o.opts.Log.Error("forget failed files", "group", folder, "error", err)
			return
		}
	}
}

// deleteBytes runs a change that removes the bytes of failed parts from the records, and
// then deletes the bytes.
func (o *Outbox) deleteBytes(ctx context.Context, change func(t *state.Tx) ([]records.Kept, error)) error {
	var gone []records.Kept
	err := o.state.Do(ctx, func(t *state.Tx) (err error) {
		gone, err = change(t)
		for i := 0; err == nil && i < len(gone); i++ {
			err = blob.Delete(t, strings.Fields(gone[i].Blobs)...)
		}
		return err
	}, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		for _, k := range gone {
			o.use(k.Folder, records.Usage{Retained: -k.Size})
			if it := o.live[k.Delivery]; it != nil {
				it.Parts[k.Position] = it.Parts[k.Position].WithoutBlobs()
			}
		}
	})
	if err != nil {
		return err
	}
	for _, k := range gone {
		o.removeBlobs(strings.Fields(k.Blobs)...)
	}
	return nil
}
