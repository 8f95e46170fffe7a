package outbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/state"
)

// Retry puts the failed or uncertain parts of a delivery behind the chat's waiting
// deliveries, with a new deadline and the same message ids. A part that ended as uncertain
// because nobody could be asked is sent once more, because the operator asks for it.
// Errors: ErrNotFound, ErrAmbiguous, ErrOpen, ErrNoBytes, and ErrSettled if no part
// failed.
func (o *Outbox) Retry(ctx context.Context, name string) error {
	it, err := o.reader.find(ctx, name)
	if err != nil {
		return err
	}
	var retried *item
	var freed int64
	err = o.state.Do(ctx, func(t *state.Tx) error {
		var err error
		retried, freed, err = o.requeue(t, it.id, Failed, Uncertain)
		return err
	}, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.use(retried.Folder, usage{retained: -freed})
		delete(o.live, retried.id) // its old state, if Next has not returned it yet
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
func (o *Outbox) requeue(t *state.Tx, id int64, from ...State) (_ *item, freed int64, err error) {
	items, err := scanItems(t.Query(itemByID, id))
	if err != nil {
		return nil, 0, err
	}
	if len(items) == 0 {
		return nil, 0, ErrNotFound
	}
	it := items[0]
	if it.Open() && !slices.Contains(from, Waiting) {
		return nil, 0, ErrOpen
	}
	open := 0
	for i := range it.Parts {
		p := &it.Parts[i]
		if !slices.Contains(from, p.State) {
			continue
		}
		if len(p.blobs()) < len(p.Files) {
			return nil, 0, ErrNoBytes
		}
		if stands, err := linkStands(t, p); err != nil || !stands {
			return nil, 0, cmp.Or(err, ErrNoBytes)
		}
		open++
		freed += p.Size()
		p.State, p.Attempts, p.Next, p.Code, p.Message, p.Hint = Queued, 0, time.Time{}, "", "", ""
		if _, err := t.Exec(`UPDATE part SET state = 'queued', attempts = 0, next = 0, code = '', message = '', hint = ''
			WHERE delivery = ? AND position = ?`, id, i); err != nil {
			return nil, 0, ofDatabase("retry", err)
		}
	}
	if open == 0 {
		return nil, 0, ErrSettled
	}
	now := time.Now()
	if it.seq, err = turns(t, 1); err != nil {
		return nil, 0, err
	}
	it.Created, it.held = now, o.heldTotal(it.Channel, now)
	it.pos = 0
	it.skip()
	_, err = t.Exec(`UPDATE delivery SET turn = ?, created = ?, held = ?, changed = ?, open = ?, bad = 0 WHERE id = ?`,
		it.seq, nano(it.Created), int64(it.held), nano(now), open, id)
	return it, freed, ofDatabase("retry", err)
}

// Cancel cancels a delivery for an operator: parts that are not sent yet become Cancelled.
// One that waits for an approval gets a no.
// Errors: ErrNotFound, ErrAmbiguous, ErrSettled, and ErrSending while a part is being
// sent.
func (o *Outbox) Cancel(ctx context.Context, name string) error {
	it, err := o.reader.find(ctx, name)
	if err != nil {
		return err
	}
	if it.waiting() {
		return o.refuse(ctx, it, answerNo, "operator")
	}
	ln, from, err := o.block(it)
	if err != nil {
		return fmt.Errorf("drop %s: %w", it.Key, err)
	}
	var cancelled []int
	err = o.state.Do(ctx, func(t *state.Tx) error {
		var err error
		cancelled, err = cancel(t, it, from, time.Now())
		return err
	}, func() { o.cancelled(ln, it, cancelled) })
	o.unblock(ln)
	if err != nil {
		return fmt.Errorf("drop %s: %w", it.Key, err)
	}
	for _, i := range cancelled {
		o.removeBlobs(it.Parts[i].blobs()...)
	}
	o.endLinksOf(ctx, it, cancelled)
	return nil
}

func cancel(t *state.Tx, it *item, from int, now time.Time) (cancelled []int, err error) {
	for i := from; i < len(it.Parts); i++ {
		n, err := t.Changed(`UPDATE part SET state = 'dropped', blob = '', next = 0, code = ?, message = ?, hint = ?
			WHERE delivery = ? AND position = ? AND state IN ('queued', 'sending')`,
			codeCancelled, cancelledMessage, cancelledHint, it.id, i)
		if err != nil {
			return nil, ofDatabase("drop", err)
		}
		if n > 0 {
			cancelled = append(cancelled, i)
			if err := blob.Delete(t, it.Parts[i].blobs()...); err != nil {
				return nil, ofDatabase("drop", err)
			}
		}
	}
	if len(cancelled) == 0 {
		return nil, ErrSettled
	}
	_, err = t.Exec(`UPDATE delivery SET open = open - ?, changed = ? WHERE id = ?`, len(cancelled), nano(now), it.id)
	return cancelled, ofDatabase("drop", err)
}

const (
	cancelledMessage = "the operator took it out of the queue"
	cancelledHint    = "ask the operator before you send it again"
)

// cancelled updates memory after a cancellation was recorded.
func (o *Outbox) cancelled(ln *lane, it *item, parts []int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	live := o.live[it.id]
	for _, i := range parts {
		o.use(it.Folder, usage{parts: -1, bytes: -it.Parts[i].Size()})
		if live != nil {
			p := live.Parts[i].withoutBlobs()
			p.State, p.Next, p.Code, p.Message, p.Hint = Cancelled, time.Time{}, codeCancelled, cancelledMessage, cancelledHint
			live.Parts[i] = p
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
	o.changes.add(it.Folder, it.id, markNew)
}

// Dismiss removes a failed or uncertain delivery from the list of failures: an operator
// has seen it and will not retry it. Its record stays; the bytes that were kept for a
// retry are deleted. Errors: ErrNotFound, ErrAmbiguous, ErrOpen, and ErrSettled if no part
// failed.
func (o *Outbox) Dismiss(ctx context.Context, name string) error {
	it, err := o.reader.find(ctx, name)
	if err != nil {
		return err
	}
	if it.Open() {
		return fmt.Errorf("dismiss %s: %w", it.Key, ErrOpen)
	}
	err = o.deleteBytes(ctx, func(t *state.Tx) ([]kept, error) {
		n, err := t.Changed(`UPDATE delivery SET bad = 0, changed = ? WHERE id = ? AND bad > 0 AND open = 0`, nano(time.Now()), it.id)
		if err != nil {
			return nil, ofDatabase("dismiss", err)
		}
		if n == 0 {
			return nil, ErrSettled
		}
		gone, err := scanKept(t, keptOfDelivery, it.id)
		if err == nil {
			_, err = t.Exec(`UPDATE part SET blob = '' WHERE delivery = ?`, it.id)
		}
		return gone, ofDatabase("dismiss", err)
	})
	if err != nil {
		return fmt.Errorf("dismiss %s: %w", it.Key, err)
	}
	return nil
}

// expireBatch is how many records one commit deletes: others that write wait for it.
const expireBatch = 100

// expire deletes the records of deliveries that ended longer ago than Retention.
func (o *Outbox) expire(now time.Time) {
	for more := true; more; {
		err := o.deleteBytes(context.Background(), func(t *state.Tx) (gone []kept, err error) {
			ids, err := scanIDs(t.Query(`SELECT id FROM delivery WHERE open = 0 AND changed < ? AND NOT `+waits+` ORDER BY changed LIMIT ?`,
				nano(now.Add(-o.limits().Retention)), expireBatch))
			more = len(ids) == expireBatch
			for _, id := range ids {
				ks, err := scanKept(t, keptOfDelivery, id)
				if err != nil {
					return nil, err
				}
				gone = append(gone, ks...)
				for _, table := range []string{`DELETE FROM part WHERE delivery = ?`, `DELETE FROM vote WHERE delivery = ?`, `DELETE FROM approval WHERE delivery = ?`, `DELETE FROM delivery WHERE id = ?`} {
					if _, err := t.Exec(table, id); err != nil {
						return nil, ofDatabase("forget deliveries", err)
					}
				}
			}
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
		over := o.usage[folder].retained - o.limits().QuotaBytes
		o.mu.Unlock()
		if over <= 0 {
			return
		}
		err := o.deleteBytes(context.Background(), func(t *state.Tx) (gone []kept, err error) {
			ks, err := scanKept(t, keptOfFolder, folder, expireBatch)
			more = len(ks) == expireBatch
			for left := over; left > 0 && len(gone) < len(ks); {
				k := ks[len(gone)]
				left -= k.size
				gone = append(gone, k)
				if _, err := t.Exec(`UPDATE part SET blob = '' WHERE delivery = ? AND position = ?`, k.delivery, k.position); err != nil {
					return nil, ofDatabase("forget a failed file", err)
				}
			}
			return gone, err
		})
		if err != nil {
			o.opts.Log.Error("forget failed files", "group", folder, "error", err)
			return
		}
	}
}

// kept is the bytes of a failed part.
type kept struct {
	delivery int64
	position int
	folder   string
	blobs    string // with spaces between
	size     int64
}

const (
	keptOfFolder = `SELECT p.delivery, p.position, d.folder, p.blob, p.size FROM part p JOIN delivery d ON d.id = p.delivery
		WHERE p.blob <> '' AND p.state NOT IN ` + unendedStates + ` AND d.folder = ? ORDER BY p.delivery, p.position LIMIT ?`

	keptOfDelivery = `SELECT p.delivery, p.position, d.folder, p.blob, p.size FROM part p JOIN delivery d ON d.id = p.delivery
		WHERE p.delivery = ? AND p.blob <> ''`
)

func scanKept(t *state.Tx, query string, args ...any) (ks []kept, _ error) {
	rows, err := t.Query(query, args...)
	err = each(rows, err, func() error {
		var k kept
		err := rows.Scan(&k.delivery, &k.position, &k.folder, &k.blobs, &k.size)
		ks = append(ks, k)
		return err
	})
	return ks, ofDatabase("read kept files", err)
}

// deleteBytes runs a change that removes the bytes of failed parts from the records, and
// then deletes the bytes.
func (o *Outbox) deleteBytes(ctx context.Context, change func(t *state.Tx) ([]kept, error)) error {
	var gone []kept
	err := o.state.Do(ctx, func(t *state.Tx) (err error) {
		gone, err = change(t)
		for i := 0; err == nil && i < len(gone); i++ {
			err = blob.Delete(t, strings.Fields(gone[i].blobs)...)
		}
		return err
	}, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		for _, k := range gone {
			o.use(k.folder, usage{retained: -k.size})
			if it := o.live[k.delivery]; it != nil {
				it.Parts[k.position] = it.Parts[k.position].withoutBlobs()
			}
		}
	})
	if err != nil {
		return err
	}
	for _, k := range gone {
		o.removeBlobs(strings.Fields(k.blobs)...)
	}
	return nil
}
