package outbox

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// List returns deliveries, the newest first, with what is under way now.
func (o *Outbox) List(ctx context.Context, f Filter) ([]Delivery, error) {
	ds, err := o.reader.List(ctx, f)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	now := make(map[string]*item, len(o.live))
	for _, it := range o.live {
		now[it.Key] = it
	}
	for i := range ds {
		if it := now[ds[i].Key]; it != nil {
			ds[i] = it.clone()
		}
	}
	return ds, nil
}

// Get returns one delivery, by request id or by the first letters of its key,
// with what is under way now. Errors: ErrNotFound, ErrAmbiguous.
func (o *Outbox) Get(_ context.Context, name string) (Delivery, error) {
	it, err := o.reader.find(name)
	if err != nil {
		return Delivery{}, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if live := o.live[it.id]; live != nil {
		it = live
	}
	return it.clone(), nil
}

// Reader reads the same records; it is closed with the outbox.
func (o *Outbox) Reader() *Reader { return o.reader }

// Retry puts the parts of a settled delivery that failed, or are uncertain,
// behind what its chat has waiting, with a new deadline and the same message
// ids. Errors: ErrNotFound, ErrAmbiguous, ErrOpen, ErrNoBytes, and ErrSettled
// where nothing of it failed.
func (o *Outbox) Retry(_ context.Context, name string) error {
	it, err := o.reader.find(name)
	if err != nil {
		return err
	}
	var retried *item
	var freed int64
	err = o.commit.do(func(t *tx) error {
		var err error
		retried, freed, err = o.requeue(t, it.id)
		return err
	}, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.retain(retried.Folder, freed, -1)
		o.accept(retried)
	})
	if err != nil {
		return fmt.Errorf("retry %s: %w", it.Key, err)
	}
	o.poke()
	return o.notifyID(it.id)
}

// requeue makes failed parts open again, in the record and in a new item.
func (o *Outbox) requeue(t *tx, id int64) (_ *item, freed int64, err error) {
	items, err := scanItems(t.query(itemByID, id))
	if err != nil {
		return nil, 0, err
	}
	if len(items) == 0 {
		return nil, 0, ErrNotFound
	}
	it := items[0]
	if it.Open() {
		return nil, 0, ErrOpen
	}
	open := 0
	for i := range it.Parts {
		p := &it.Parts[i]
		if p.State != Failed && p.State != Uncertain {
			continue
		}
		if p.File != nil && p.File.Blob == "" {
			return nil, 0, ErrNoBytes
		}
		if p.State == Uncertain {
			it.begun[i] = true
		}
		open++
		freed += p.size()
		p.State, p.Attempts, p.Next, p.Code, p.Message, p.Hint = Queued, 0, time.Time{}, "", "", ""
		if _, err := t.exec(`UPDATE part SET state = 'queued', attempts = 0, next = 0, begun = ?, code = '', message = '', hint = ''
			WHERE delivery = ? AND position = ?`, it.begun[i], id, i); err != nil {
			return nil, 0, ofDatabase("retry", err)
		}
	}
	if open == 0 {
		return nil, 0, ErrSettled
	}
	now := time.Now()
	o.turn++
	it.turn, it.Created, it.held = o.turn, now, o.heldTotal(it.Channel, now)
	it.pos = 0
	it.skip()
	_, err = t.exec(`UPDATE delivery SET turn = ?, created = ?, held = ?, changed = ?, open = ?, bad = 0 WHERE id = ?`,
		it.turn, nano(it.Created), int64(it.held), nano(now), open, id)
	return it, freed, ofDatabase("retry", err)
}

// Drop ends a delivery that an operator does not want sent: what is not sent
// yet becomes Dropped. Errors: ErrNotFound, ErrAmbiguous, ErrSettled, and
// ErrSending while a part of it is under way.
func (o *Outbox) Drop(_ context.Context, name string) error {
	it, err := o.reader.find(name)
	if err != nil {
		return err
	}
	ln, from, err := o.block(it)
	if err != nil {
		return fmt.Errorf("drop %s: %w", it.Key, err)
	}
	var dropped []int
	err = o.commit.do(func(t *tx) error {
		var err error
		dropped, err = drop(t, it, from, time.Now())
		return err
	}, func() { o.forget(ln, it, dropped) })
	o.mu.Lock()
	ln.blocked--
	if ln.state == idle {
		o.ready(ln)
	}
	o.mu.Unlock()
	o.poke()
	if err != nil {
		return fmt.Errorf("drop %s: %w", it.Key, err)
	}
	var blobs []string
	for _, i := range dropped {
		if blob := it.Parts[i].blob(); blob != "" {
			blobs = append(blobs, blob)
		}
	}
	o.removeBlobs(blobs)
	return o.notifyID(it.id)
}

// block keeps a delivery's chat from starting a send, and returns the first
// part that was not sent yet.
func (o *Outbox) block(it *item) (*lane, int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	ln := o.lane(laneKey{it.Channel, it.Chat}, it.Folder)
	from := 0
	if live := o.live[it.id]; live != nil {
		if ln.state == running && len(ln.heads) > 0 && ln.heads[0] == live {
			return nil, 0, ErrSending
		}
		from = live.pos
	}
	ln.blocked++
	return ln, from, nil
}

func drop(t *tx, it *item, from int, now time.Time) (dropped []int, err error) {
	for i := from; i < len(it.Parts); i++ {
		n, err := t.changed(`UPDATE part SET state = 'dropped', blob = '', next = 0, code = ?, message = ?, hint = ?
			WHERE delivery = ? AND position = ? AND state IN ('queued', 'sending')`,
			codeDropped, droppedMessage, droppedHint, it.id, i)
		if err != nil {
			return nil, ofDatabase("drop", err)
		}
		if n > 0 {
			dropped = append(dropped, i)
		}
	}
	if len(dropped) == 0 {
		return nil, ErrSettled
	}
	_, err = t.exec(`UPDATE delivery SET open = open - ?, changed = ? WHERE id = ?`, len(dropped), nano(now), it.id)
	return dropped, ofDatabase("drop", err)
}

const (
	droppedMessage = "the operator took it out of the queue"
	droppedHint    = "ask the operator before you send it again"
)

// forget brings memory in line with a drop.
func (o *Outbox) forget(ln *lane, it *item, dropped []int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, i := range dropped {
		o.charge(it.Folder, &it.Parts[i], -1)
	}
	if live := o.live[it.id]; live != nil {
		for _, i := range dropped {
			p := live.Parts[i].withoutBlob()
			p.State, p.Next, p.Code, p.Message, p.Hint = Dropped, time.Time{}, codeDropped, droppedMessage, droppedHint
			live.Parts[i] = p
		}
		live.pos = len(live.Parts)
		if at := slices.Index(ln.heads, live); at >= 0 {
			ln.heads = slices.Delete(ln.heads, at, at+1)
			o.buffered--
		}
	}
	ln.count--
	ln.epoch++
}

// Stats is what an operator's page and the metrics show.
type Stats struct {
	Pending   int       // open parts
	Bytes     int64     // of their files
	Retained  int64     // bytes kept of failed parts
	Chats     int       // with something open
	InFlight  int       // sends under way
	Stalled   int       // of them, those that make no progress
	Unsettled int       // outcomes that wait for the disk
	Oldest    time.Time // when the oldest open delivery was accepted; zero: none
	Held      []string  // channels that wait for an operator

	// Since Open.
	Attempts, Sent, Failed, Uncertain int64
}

// Stats counts. It reads the records of open deliveries only.
func (o *Outbox) Stats(ctx context.Context) (Stats, error) {
	s := Stats{
		Attempts: o.counters.attempts.Load(), Sent: o.counters.sent.Load(),
		Failed: o.counters.failed.Load(), Uncertain: o.counters.uncertain.Load(),
		Unsettled: o.settler.len(),
	}
	o.mu.Lock()
	for _, u := range o.usage {
		s.Pending += u.parts
		s.Bytes += u.bytes
		s.Retained += u.retained
	}
	for _, l := range o.lines {
		if !l.hold.since.IsZero() {
			s.Held = append(s.Held, l.name)
		}
	}
	for _, ln := range o.lanes {
		if ln.count > 0 {
			s.Chats++
		}
		if ln.attempt != nil {
			s.InFlight++
			if ln.attempt.stalled {
				s.Stalled++
			}
		}
	}
	o.mu.Unlock()
	slices.Sort(s.Held)
	var oldest int64
	err := o.reader.db.QueryRowContext(ctx, `SELECT coalesce(min(created), 0)
		FROM delivery INDEXED BY delivery_open WHERE open > 0`).Scan(&oldest)
	s.Oldest = fromNano(oldest)
	return s, ofDatabase("count deliveries", err)
}
