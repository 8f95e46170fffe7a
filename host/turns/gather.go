package turns

import (
	"iter"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/inbound"
)

// filePatience is how long a message waits for the first attempt at its files.
const filePatience = 15 * time.Second

// burst is a group of messages of one conversation that follow each other closely, with
// the notices and notes between them. It is handed to the assistant as a whole. Its bounds
// depend only on the times at which the messages were kept, so that a restarted host finds
// the same burst.
type burst struct {
	records   []*record
	begins    time.Time // when its first message was kept; zero: it has none
	called    time.Time // the same of the first one that calls the assistant; zero: none does
	last      time.Time // the same of its last message
	arrivedAt time.Time // since when this host has that one
}

// bursts divides kept into bursts, in order.
func bursts(kept []*record, g groups.Gather) iter.Seq[burst] {
	return func(yield func(burst) bool) {
		var b burst
		for i, r := range kept {
			if !r.aside() && !b.takes(r, g) && len(b.records) > 0 {
				if !yield(b) {
					return
				}
				b = burst{}
			}
			b.records = kept[i-len(b.records) : i+1]
			b.note(r)
		}
		if len(b.records) > 0 {
			yield(b)
		}
	}
}

// aside reports whether a record neither begins nor prolongs a burst.
func (r *record) aside() bool {
	return r.Kind == inbound.KindTask || !r.Calls() && r.Kind != inbound.KindContext
}

func (b *burst) note(r *record) {
	if r.aside() {
		return
	}
	if b.begins.IsZero() {
		b.begins = r.Kept
	}
	if b.called.IsZero() && r.Calls() {
		b.called = r.Kept
	}
	b.last, b.arrivedAt = r.Kept, r.Since()
}

func (b *burst) takes(r *record, g groups.Gather) bool {
	return !b.begins.IsZero() && r.Kept.Sub(b.last) <= g.After.Std() && !r.Kept.After(b.latest(g))
}

// latest is when a burst ends at the latest, however closely its messages follow each
// other. Messages before the first call do not count.
func (b *burst) latest(g groups.Gather) time.Time {
	if b.called.IsZero() {
		return b.begins.Add(g.Most.Std())
	}
	return b.called.Add(g.Most.Std())
}

// ends is the time from which nothing can join a burst any more; zero if nothing ever
// could. It counts from when this host heard the last message: by its own time, a
// burst would last a day longer after the clock was set back by a day.
func (b *burst) ends(g groups.Gather) time.Time {
	if g.After <= 0 || b.begins.IsZero() {
		return time.Time{}
	}
	if end := b.last.Add(g.After.Std()); end.Before(b.latest(g)) {
		return b.arrivedAt.Add(g.After.Std())
	}
	return b.arrivedAt.Add(b.latest(g).Sub(b.last))
}

// fetching reports whether a file of a burst still waits for its first attempt.
func (b *burst) fetching(now time.Time) bool {
	return slices.ContainsFunc(b.records, func(r *record) bool {
		return len(r.waits) > 0 && now.Before(r.Since().Add(filePatience))
	})
}

// free returns the records at the head of kept that may be handed over: whole bursts
// without files that wait for a first attempt.
func (c *conversation) free() []*record {
	now, gather, n := time.Now(), c.configured().Gather, 0
	for b := range bursts(c.kept, gather) {
		if now.Before(b.ends(gather)) || b.fetching(now) {
			break
		}
		n += len(b.records)
	}
	return isolate(c.kept[:n])
}

// takeFree removes those records from kept. If one message calls the assistant, its whole
// burst does.
func (c *conversation) takeFree() []*record {
	free := slices.Clone(c.free())
	c.kept = slices.DeleteFunc(slices.Clone(c.kept), func(r *record) bool { return slices.Contains(free, r) })
	for b := range bursts(free, c.configured().Gather) {
		for _, r := range b.records {
			if r.Kind == inbound.KindContext && !b.called.IsZero() {
				r.Kind = inbound.KindCall
			}
		}
	}
	return free
}

// gathers is how long the next burst will still be gathered; 0 if it is complete, or
// nothing waits for it.
func (c *conversation) gathers(now time.Time) time.Duration {
	gather := c.configured().Gather
	for b := range bursts(c.kept, gather) {
		if wait := b.ends(gather).Sub(now); wait > 0 {
			return wait
		}
	}
	return 0
}

// isolate limits the records that may be handed over so that an isolated task is alone:
// earlier calls go first, and everything else waits.
func isolate(free []*record) []*record {
	i := slices.IndexFunc(free, func(r *record) bool { return r.Isolated })
	switch {
	case i < 0:
		return free
	case slices.ContainsFunc(free[:i], (*record).Calls):
		return free[:i]
	}
	return free[i : i+1]
}

// isolatedNext reports whether the next record is an isolated task.
func (c *conversation) isolatedNext() bool {
	free := c.free()
	return len(free) == 1 && free[0].Isolated
}
