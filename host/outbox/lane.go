package outbox

import (
	"container/heap"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox/records"
)

const (
	// pipeline is how many outcomes of one chat may wait for their record while its next
	// parts are sent.
	pipeline = 128

	// mostUnrecorded is how many parts of one chat the earlier process may have sent
	// without recording an outcome: at most its pipeline.
	mostUnrecorded = pipeline

	// maxOutcomes is how many outcomes, of all chats, may wait for their record before
	// sending stops. It is reached if the disk accepts no writes.
	maxOutcomes = 1024

	// readAhead bounds the deliveries of one chat that are in memory, and
	// inMemory those of all.
	readAhead = 64
	inMemory  = 4096
)

// line is a channel with the chats that wait for it: round robin among the
// groups, and among the chats of a group.
type line struct {
	name   string
	held   channel.Channel // nil: not configured
	groups map[string]*backlog
	ring   []*backlog // round robin; each group with a ready lane is in it once
	busy   int        // sends in flight that count against Parallel
	hold   hold
}

// channel returns the channel as it is now; nil: not configured.
func (l *line) channel() channel.Channel { return channel.Current(l.held) }

// backlog is a group's ready lanes, the next one first.
type backlog struct {
	folder string
	lanes  []*lane
}

type laneState int

const (
	idle    laneState = iota // nothing to send, or blocked
	ready                    // in its line's ring
	waiting                  // in the heap until at
	running                  // in the heap until somebody looks at its progress
)

// lane is a chat's place in the outbox while something of the chat is open. It
// has a goroutine only while a part of it is on its way. mu guards all of it.
type lane struct {
	key        groups.Address
	line       *line
	folder     string  // of the next delivery, if it is loaded
	heads      []*item // the next deliveries, as far as read
	loaded     int64   // the seq of the last one read
	count      int     // open deliveries that have not ended here, loaded or not
	unrecorded int     // outcomes that are not recorded yet
	recovered  int     // parts that the earlier process may have sent without recording it
	lowering   bool    // the next part takes another form, which is not recorded yet
	blocked    int     // an operator is cancelling something
	epoch      int     // changes when something was cancelled
	paid       bool    // the group's rate allows the next attempt

	state   laneState
	at      time.Time
	index   int  // in the heap
	backoff bool // waiting after an error, not for the rate
	attempt *attempt
}

func (o *Outbox) lane(key groups.Address, folder string) *lane {
	ln := o.lanes[key]
	if ln == nil {
		ln = &lane{key: key, line: o.line(key.Channel), folder: folder}
		o.lanes[key] = ln
	}
	return ln
}

// accept adds a delivery that was just recorded; the caller holds mu, and
// calls in the order of seq.
func (o *Outbox) accept(it *item) {
	for i := range it.Parts {
		if p := &it.Parts[i]; p.State.Open() {
			o.use(it.Folder, records.Usage{Parts: 1, Bytes: p.Size()})
		}
	}
	ln := o.lane(it.Address(), it.Folder)
	all := len(ln.heads) == ln.count // every open delivery of the chat is in memory
	ln.count++
	if all && it.Turn > ln.loaded && len(ln.heads) < readAhead && o.buffered < inMemory {
		o.buffer(ln, it)
	}
	if ln.state == idle {
		o.schedule(ln)
	}
}

func (o *Outbox) buffer(ln *lane, it *item) {
	ln.heads = append(ln.heads, it)
	ln.loaded = it.Turn
	ln.folder = ln.heads[0].Folder
	o.live[it.ID] = it
	o.buffered++
}

// load reads the chat's next deliveries if none is in memory. The caller holds
// mu, which load gives up while it reads.
func (o *Outbox) load(ln *lane) error {
	for len(ln.heads) == 0 && ln.count > 0 {
		after, epoch, n := ln.loaded, ln.epoch, readAhead
		if o.buffered+n > inMemory {
			n = 1
		}
		o.mu.Unlock()
		found, err := o.reader.OfChat(ln.key, after, n)
		o.mu.Lock()
		if err != nil {
			return err
		}
		if ln.epoch != epoch || ln.loaded != after {
			continue // it may have been cancelled since it was read
		}
		for _, r := range found {
			it := itemOf(r)
			o.clocks(it, time.Now())
			o.buffer(ln, it)
		}
		return nil
	}
	return nil
}

// clocks corrects times of a record that only a clock can have written that was set back
// since: an attempt would wait for that time. A platform that wanted a longer wait says so
// again.
func (o *Outbox) clocks(it *item, now time.Time) {
	for i := range it.Parts {
		p := &it.Parts[i]
		if latest := now.Add(o.limits().Backoff.Max); p.Next.After(latest) {
			p.Next = latest
		}
		if p.State == records.Pending && p.Doubt.After(now) {
			p.Doubt = now
		}
	}
}

// finished removes the first delivery from the lane.
func (o *Outbox) finished(ln *lane) {
	ln.heads = ln.heads[1:]
	ln.count--
	o.buffered--
	if len(ln.heads) > 0 {
		ln.folder = ln.heads[0].Folder
	}
}

// trim unloads deliveries of a chat that has to wait.
func (o *Outbox) trim(ln *lane) {
	for _, it := range ln.heads[min(1, len(ln.heads)):] {
		delete(o.live, it.ID)
		o.buffered--
	}
	if len(ln.heads) > 1 {
		ln.heads = []*item{ln.heads[0]}
		ln.loaded = ln.heads[0].Turn
	}
}

// schedule puts a lane that is neither waiting nor running into the ring if it may send,
// and deletes a lane that has nothing left.
func (o *Outbox) schedule(ln *lane) {
	ln.state = idle
	switch {
	case ln.count == 0 && len(ln.heads) == 0:
		if ln.unrecorded == 0 && ln.blocked == 0 {
			delete(o.lanes, ln.key)
		}
		return
	case ln.blocked > 0, ln.unrecorded >= pipeline, ln.count <= 0, ln.awaitsRecord():
		return
	}
	ln.state = ready
	g := ln.line.groups[ln.folder]
	if g == nil {
		g = &backlog{folder: ln.folder}
		ln.line.groups[ln.folder] = g
		ln.line.ring = append(ln.line.ring, g)
	}
	g.lanes = append(g.lanes, ln)
}

// awaitsRecord reports whether the next part changes a message whose outcome is not recorded,
// or takes another form.
func (ln *lane) awaitsRecord() bool {
	return ln.lowering || ln.unrecorded > 0 && len(ln.heads) > 0 && ln.heads[0].Parts[ln.heads[0].pos].Aimless()
}

// next takes the first lane of the next group off the ring.
func (l *line) next() *lane {
	g := l.ring[0]
	l.ring = l.ring[1:]
	ln := g.lanes[0]
	g.lanes = g.lanes[1:]
	if len(g.lanes) > 0 {
		l.ring = append(l.ring, g)
	} else {
		delete(l.groups, g.folder)
	}
	ln.state = idle
	return ln
}

// wait parks a lane until at.
func (o *Outbox) wait(ln *lane, at time.Time, backoff bool) {
	ln.state, ln.at, ln.backoff = waiting, at, backoff
	heap.Push(&o.waits, ln)
}

// block stops a delivery's chat from starting an attempt, and returns the first part that
// is not sent yet.
func (o *Outbox) block(r *records.Record) (*lane, int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	ln := o.lane(r.Address(), r.Folder)
	from, parts := 0, r.Parts
	if live := o.live[r.ID]; live != nil {
		sending := func(p records.Part) bool { return p.State == records.Sending }
		if ln.state == running && len(ln.heads) > 0 && (ln.heads[0] == live || slices.ContainsFunc(live.Parts, sending)) {
			return nil, 0, ErrSending
		}
		from, parts = live.pos, live.Parts
	}
	if slices.ContainsFunc(parts, func(p records.Part) bool { return p.State == records.Pending }) {
		return nil, 0, ErrSending // the platform has it
	}
	ln.blocked++
	return ln, from, nil
}

func (o *Outbox) unblock(ln *lane) {
	o.mu.Lock()
	ln.blocked--
	if ln.state == idle {
		o.schedule(ln)
	}
	o.mu.Unlock()
	o.poke()
}

// Use is how much a group has in the outbox, of what Limits allow it.
type Use struct {
	Messages int   // open ones; QuotaPending bounds them
	Bytes    int64 // of their files; QuotaBytes bounds them
	Retained int64 // bytes of failed messages, kept for a retry; QuotaBytes bounds them, too
}

// UsedBy returns how much a group has in the outbox. What waits for an approval has a quota
// of its own, and is not counted here.
func (o *Outbox) UsedBy(folder string) Use {
	o.mu.Lock()
	defer o.mu.Unlock()
	u := o.usage[folder]
	return Use{Messages: u.Parts, Bytes: u.Bytes, Retained: u.Retained}
}

// use adds to a group's usage. The caller holds mu, or is Open.
func (o *Outbox) use(folder string, more records.Usage) {
	u := o.usage[folder]
	u.Parts += more.Parts
	u.Bytes += more.Bytes
	u.Retained += more.Retained
	u.Waiting += more.Waiting
	u.WaitingBytes += more.WaitingBytes
	if u == (records.Usage{}) {
		delete(o.usage, folder)
		return
	}
	o.usage[folder] = u
}

// waitHeap holds the lanes that wait or run, the earliest first.
type waitHeap []*lane

func (h waitHeap) Len() int           { return len(h) }
func (h waitHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h waitHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *waitHeap) Push(x any) {
	ln := x.(*lane)
	ln.index = len(*h)
	*h = append(*h, ln)
}

func (h *waitHeap) Pop() any {
	old := *h
	ln := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return ln
}

// item is a delivery in memory. Its parts are as recorded, except for Sending, Attempts
// and Sent, a mark of doubt that is being written, and outcomes after which a part stays
// open. Once the item is in a lane, mu guards it.
type item struct {
	records.Record
	pos      int  // the part that goes out next
	replaced bool // a later request has the same id
}

// skip moves pos to the next open part.
func (it *item) skip() {
	for it.pos < len(it.Parts) && !it.Parts[it.pos].State.Open() {
		it.pos++
	}
}

func itemOf(r *records.Record) *item {
	it := &item{Record: *r}
	it.skip()
	return it
}
