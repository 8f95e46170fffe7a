package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/host/outbox/records"
)

// ErrEnded is Next's answer once Run has ended and every change has been
// handed out.
var ErrEnded = errors.New("the outbox has ended, and all its changes are handed out")

// maxChanges is how many deliveries Next hands out at once.
const maxChanges = 64

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

// Next waits for deliveries that changed durably and returns those of one group; groups
// take turns. While a part's bytes are being sent, its delivery changes about once a
// second. A delivery that changed several times is returned once, in its present state.
//
// Several goroutines may call Next at once. ctx bounds the wait: changes that are ready
// are returned even if ctx is done. Next returns ErrEnded once Run has ended and no change
// is left, so a reader gets every change before it stops. After a new Run, Next waits
// again.
func (o *Outbox) Next(ctx context.Context) (*Changes, error) {
	for {
		o.mu.Lock()
		c, unread := o.takeChanges()
		ended := o.changes.ended
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
		case <-o.changes.news:
		}
	}
}

// Done allows the group's further changes to be returned. Call it once.
func (c *Changes) Done() {
	c.o.mu.Lock()
	defer c.o.mu.Unlock()
	c.o.changes.release(c.Folder)
}

// againAfter is the pause before a delivery is handed out again.
const againAfter = 5 * time.Second

// Again makes Next return a delivery once more after a few seconds, as its result could not
// be written. If Run ends before that, Recall finds it at the next start.
func (c *Changes) Again(d Change) { c.o.again(c.Folder, d.id, markAgain) }

func (o *Outbox) again(folder string, id int64, m mark) {
	time.AfterFunc(againAfter, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.changes.add(folder, id, m)
	})
}

// Recall makes Next return, as Past, every delivery that is open or changed at or after
// since: a crash may have come between a record and its report.
func (o *Outbox) Recall(ctx context.Context, since time.Time) error {
	err := o.reader.ChangedSince(ctx, since, func(id int64, folder string) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.changes.add(folder, id, markPast)
	})
	if err != nil {
		return fmt.Errorf("recall deliveries: %w", err)
	}
	return nil
}

// changed queues a delivery for Next. Its change is durable. The caller holds mu.
func (o *Outbox) changed(it *item) {
	o.changes.add(it.Folder, it.ID, markNew)
	// A finished delivery stays in memory until Next returns it, so that Next need not
	// read it. If Next is not called, or too slowly, the delivery is read from the disk.
	if !it.Open() && o.live[it.ID] == it && len(o.live) > o.buffered+inMemory {
		delete(o.live, it.ID)
	}
}

// takeChanges takes the changes of the group whose turn it is, or returns nil. unread has
// the ids of the deliveries that are not in memory, in their places. The caller holds mu.
func (o *Outbox) takeChanges() (c *Changes, unread []int64) {
	folder, ids := o.changes.take()
	if len(ids) == 0 {
		return nil, nil
	}
	c = &Changes{Folder: folder, All: make([]Change, len(ids)), o: o}
	unread = make([]int64, len(ids))
	for i, id := range ids {
		c.All[i].id, c.All[i].Past, c.All[i].Again = id.id, id.mark == markPast, id.mark == markAgain
		it := o.live[id.id]
		if it == nil {
			unread[i] = id.id
			continue
		}
		c.All[i].Delivery = it.Clone()
		if it.replaced {
			c.All[i].Request = ""
		}
		if !it.Open() {
			delete(o.live, id.id)
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
					o.again(c.Folder, change.id, markOf(change))
				}
				continue
			}
			change.Delivery = it.Delivery
		}
		all = append(all, change)
	}
	c.All = all
}

// reporting reports whether Run works: while it does, Next waits for changes.
func (o *Outbox) reporting(on bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.runs, o.changes.ended = on, !on
	o.changes.signal()
}

// changeList is the list of deliveries that changed and were not returned since. It holds
// ids only: Next looks up the newest state when it returns a delivery. Outbox.mu guards
// the list.
type changeList struct {
	news   chan struct{} // of capacity one: a change is ready, or Run has ended
	groups map[string]*changedGroup
	ready  []string // the folders with changes to take, in turns
	ended  bool     // Run has ended
}

// changedGroup is the changes of one group.
type changedGroup struct {
	order []int64        // ids, by first change
	marks map[int64]mark // the same ids
	busy  bool           // in ready, or handed out and not Done
}

// mark says why a delivery is in the list. A change that comes to it makes it markNew.
type mark uint8

const (
	markNew   mark = iota
	markPast       // only Recall requested it
	markAgain      // only its result is left to report
)

func markOf(c Change) mark {
	switch {
	case c.Past:
		return markPast
	case c.Again:
		return markAgain
	}
	return markNew
}

// changeID identifies a delivery in the list.
type changeID struct {
	id   int64
	mark mark
}

func newChangeList() changeList {
	return changeList{news: make(chan struct{}, 1), groups: map[string]*changedGroup{}}
}

func (l *changeList) add(folder string, id int64, m mark) {
	g := l.groups[folder]
	if g == nil {
		g = &changedGroup{marks: map[int64]mark{}}
		l.groups[folder] = g
	}
	was, known := g.marks[id]
	if !known {
		g.order = append(g.order, id)
	} else if was != m {
		m = markNew
	}
	g.marks[id] = m
	if !g.busy {
		l.enqueue(folder, g)
	}
}

func (l *changeList) enqueue(folder string, g *changedGroup) {
	g.busy = true
	l.ready = append(l.ready, folder)
	l.signal()
}

// take returns the first ids of the group whose turn it is.
func (l *changeList) take() (folder string, ids []changeID) {
	if len(l.ready) == 0 {
		if l.ended {
			l.signal() // the next reader ends too
		}
		return "", nil
	}
	folder, l.ready = l.ready[0], l.ready[1:]
	if len(l.ready) > 0 {
		l.signal()
	}
	g := l.groups[folder]
	n := min(len(g.order), maxChanges)
	for _, id := range g.order[:n] {
		ids = append(ids, changeID{id, g.marks[id]})
		delete(g.marks, id)
	}
	g.order = g.order[n:]
	return folder, ids
}

// release marks a group's changes as no longer being handled.
func (l *changeList) release(folder string) {
	g := l.groups[folder]
	if len(g.order) > 0 {
		l.enqueue(folder, g)
		return
	}
	delete(l.groups, folder)
}

// signal wakes one reader, who wakes the next if there is more.
func (l *changeList) signal() { signal(l.news) }
