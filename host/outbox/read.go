package outbox

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/outbox/records"
)

// List returns deliveries, the newest first, with the progress of sends.
func (o *Outbox) List(ctx context.Context, f records.Filter) ([]records.Delivery, error) {
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
		if it := now[ds[i].Key]; it != nil && ds[i].Open() { // else memory hears of the record in a moment
			ds[i] = it.Clone()
		}
	}
	return ds, nil
}

// Get returns one delivery, by request id or by the first letters of its key, with the
// progress of its sends. Errors: ErrNotFound, ErrAmbiguous.
func (o *Outbox) Get(ctx context.Context, name string) (records.Delivery, error) {
	r, err := o.reader.Find(ctx, name)
	if err != nil {
		return records.Delivery{}, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if live := o.live[r.ID]; live != nil && r.Open() {
		return live.Clone(), nil
	}
	return r.Delivery, nil
}

// Reader returns a reader of the same records. It is closed with the outbox.
func (o *Outbox) Reader() *records.Reader { return o.reader }

// Stats are the figures for the operator and the metrics.
type Stats struct {
	Pending    int       // open parts, and those that wait for an approval
	Waiting    int       // deliveries that wait for an approval
	Bytes      int64     // of their files
	Retained   int64     // bytes kept of failed parts
	Chats      int       // with something open
	InFlight   int       // sends under way
	Stalled    int       // of them, those that make no progress
	Unrecorded int       // outcomes that wait for the disk
	Oldest     time.Time // when the oldest open delivery was accepted; zero: none
	Held       []string  // channels that wait for an operator

	// Since Open.
	Attempts, Sent, Failed, Uncertain int64
	Answers                           map[string]int64 // to approvals: yes, no, none (nobody answered in time) and lost (the bytes were gone)
}

// Stats counts. It reads only the records of open deliveries.
func (o *Outbox) Stats(ctx context.Context) (Stats, error) {
	s := Stats{
		Attempts: o.counters.attempts.Load(), Sent: o.counters.sent.Load(),
		Failed: o.counters.failed.Load(), Uncertain: o.counters.uncertain.Load(),
	}
	o.mu.Lock()
	s.Unrecorded, s.Answers = len(o.outcomes), maps.Clone(o.answers)
	for _, u := range o.usage {
		s.Pending += u.Parts + u.Waiting
		s.Bytes += u.Bytes + u.WaitingBytes
		s.Retained += u.Retained
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
	var err error
	s.Oldest, s.Waiting, err = o.reader.Unsettled(ctx)
	return s, err
}
