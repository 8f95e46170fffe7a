package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/host/outbox/changes"
	"github.com/longshore-bridge/longshore/host/outbox/records"
)

// ErrEnded is NextChanges's answer once Run has ended and every change has been
// handed out.
var ErrEnded = errors.New("the outbox has ended, and all its changes are handed out")

// Changes are deliveries of one group that changed, in the order of their
// first change. Nobody else is handed changes of the group until Done.
type Changes struct {
	Folder string
	All    []Change
	o      *Outbox
}

// Change is a delivery that changed, in its present state. Ended parts are recorded; an
// open part may be further than its record, such as Sending.
type Change struct {
	records.Delivery
	Past  bool // Recall requested it: an earlier process may have reported it
	Again bool // [Changes.Again] requested it: only its result is left to report
	id    int64
}

// NextChanges waits for deliveries that changed durably and returns those of one group; groups
// take turns. While a part's bytes are being sent, its delivery changes about once a
// second. A delivery that changed several times is returned once, in its present state.
//
// Several goroutines may call NextChanges at once. ctx bounds the wait: changes that are ready
// are returned even if ctx is done. NextChanges returns ErrEnded once Run has ended and no change
// is left, so a reader gets every change before it stops. After a new Run, NextChanges waits
// again.
func (o *Outbox) NextChanges(ctx context.Context) (*Changes, error) {
	for {
		o.mu.Lock()
		c, unread := o.takeChanges()
		ended := o.changes.Ended
		o.mu.Unlock()
		if c != nil {
			o.readChanges(c, unread)
			return c, nil
		}
		if ended {
			return nil, ErrEnded
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-o.changes.News:
		}
	}
}

// Done allows the group's further changes to be returned. Call it once.
func (c *Changes) Done() {
	c.o.mu.Lock()
	defer c.o.mu.Unlock()
	c.o.changes.Release(c.Folder)
}

// againAfter is the pause before a delivery is handed out again.
const againAfter = 5 * time.Second

// Again makes NextChanges return a delivery once more after a few seconds, as its result could not
// be written. If Run ends before that, Recall finds it at the next start.
func (c *Changes) Again(d Change) { c.o.addLater(c.Folder, d.id, changes.Again) }

func (o *Outbox) addLater(folder string, id int64, m changes.Mark) {
	time.AfterFunc(againAfter, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.changes.Add(folder, id, m)
	})
}

// Recall makes NextChanges return, as Past, every delivery that changed at or after since, and every
// open one that has changed since it was recorded: a crash may have come between a record and its report.
func (o *Outbox) Recall(ctx context.Context, since time.Time) error {
	err := o.reader.ChangedSince(ctx, since, func(id int64, folder string) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.changes.Add(folder, id, changes.Past)
	})
	if err != nil {
		return fmt.Errorf("recall deliveries: %w", err)
	}
	return nil
}

// changed queues a delivery for NextChanges. Its change is durable. The caller holds mu.
func (o *Outbox) changed(it *item) {
	o.changes.Add(it.Folder, it.ID, changes.New)
	// A finished delivery stays in memory until NextChanges returns it, so that it need not
	// read it. If NextChanges is not called, or too slowly, the delivery is read from the disk.
	if !it.Open() && o.live[it.ID] == it && len(o.live) > o.buffered+inMemory {
		delete(o.live, it.ID)
	}
}

// takeChanges takes the changes of the group whose turn it is, or returns nil. unread has
// the ids of the deliveries that are not in memory, in their places. The caller holds mu.
func (o *Outbox) takeChanges() (c *Changes, unread []int64) {
	folder, ids := o.changes.Take()
	if len(ids) == 0 {
		return nil, nil
	}
	c = &Changes{Folder: folder, All: make([]Change, len(ids)), o: o}
	unread = make([]int64, len(ids))
	for i, id := range ids {
		c.All[i].id, c.All[i].Past, c.All[i].Again = id.ID, id.Mark == changes.Past, id.Mark == changes.Again
		it := o.live[id.ID]
		if it == nil {
			unread[i] = id.ID
			continue
		}
		c.All[i].Delivery = it.Clone()
		if it.replaced {
			c.All[i].Request = ""
		}
		if !it.Open() {
			delete(o.live, id.ID)
		}
	}
	return c, unread
}

// readChanges reads the deliveries that takeChanges did not find in memory. It leaves out
// a delivery that has expired since, and one that cannot be read; the latter comes again.
func (o *Outbox) readChanges(c *Changes, unread []int64) {
	all := c.All[:0]
	for i, change := range c.All {
		if unread[i] != 0 {
			it, err := o.reader.Record(context.Background(), unread[i])
			if err != nil {
				if !errors.Is(err, records.ErrNotFound) {
					o.opts.Log.Error("read a delivery that changed", "group", c.Folder, "error", err)
					o.addLater(c.Folder, change.id, markOf(change))
				}
				continue
			}
			change.Delivery = it.Delivery
		}
		all = append(all, change)
	}
	c.All = all
}

// reporting reports whether Run works: while it does, NextChanges waits for changes.
func (o *Outbox) reporting(on bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.runs = on
	o.changes.End(!on)
}

func markOf(c Change) changes.Mark {
	switch {
	case c.Past:
		return changes.Past
	case c.Again:
		return changes.Again
	}
	return changes.New
}
