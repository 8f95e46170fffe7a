package outbox

import (
	"container/heap"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

const (
	// pipeline is how many outcomes of one chat may be waiting to be recorded
	// while its next parts go out.
	pipeline = 64

	// readAhead bounds the deliveries of one chat that are in memory, and
	// inMemory those of all.
	readAhead = 32
	inMemory  = 4096
)

// line is a channel with the chats that wait for it, in turns by group.
type line struct {
	name   string
	ch     channel.Channel // nil: not configured
	groups map[string]*turns
	ring   []*turns // round robin; each group with a ready lane is in it once
	busy   int      // sends in flight that count against Parallel
	hold   hold
}

// turns is a group's ready lanes.
type turns struct {
	folder string
	lanes  []*lane
}

type laneKey struct {
	channel string
	chat    groups.JID
}

type laneState int

const (
	idle    laneState = iota // nothing to send, or blocked
	ready                    // in its line's ring
	waiting                  // in the heap until at
	running                  // in the heap until somebody looks at its progress
)

// lane is one chat with something to send. It has no goroutine but while a
// part of it is on its way. mu guards all of it.
type lane struct {
	key       laneKey
	line      *line
	folder    string  // of the next delivery, as far as known
	heads     []*item // the next deliveries, as far as read
	loaded    int64   // the turn of the last one read
	count     int     // open deliveries that were not finished here, read or not
	unsettled int     // outcomes that are not recorded yet
	recovered int     // parts that the process before may have sent without recording it
	blocked   int     // an operator is dropping something
	epoch     int     // changes when something was dropped
	paid      bool    // the group's rate allows the next attempt

	state   laneState
	at      time.Time
	index   int  // in the heap
	backoff bool // waiting after an error, not for the rate
	attempt *attempt
}

func (o *Outbox) lane(key laneKey, folder string) *lane {
	ln := o.lanes[key]
	if ln == nil {
		ln = &lane{key: key, line: o.line(key.channel), folder: folder}
		o.lanes[key] = ln
	}
	return ln
}

// accept adds a delivery that was just recorded; the caller holds mu, and
// calls in the order of the turns.
func (o *Outbox) accept(it *item) {
	for i := range it.Parts {
		if it.Parts[i].State.open() {
			o.charge(it.Folder, &it.Parts[i], 1)
		}
	}
	ln := o.lane(laneKey{it.Channel, it.Chat}, it.Folder)
	all := len(ln.heads) == ln.count // nothing of the chat is on disk only
	ln.count++
	if all && it.turn > ln.loaded && len(ln.heads) < readAhead && o.buffered < inMemory {
		o.buffer(ln, it)
	}
	if ln.state == idle {
		o.ready(ln)
	}
}

func (o *Outbox) buffer(ln *lane, it *item) {
	ln.heads = append(ln.heads, it)
	ln.loaded = it.turn
	ln.folder = ln.heads[0].Folder
	o.live[it.id] = it
	o.buffered++
}

// finished takes the first delivery off the lane.
func (o *Outbox) finished(ln *lane) {
	ln.heads = ln.heads[1:]
	ln.count--
	o.buffered--
	if len(ln.heads) > 0 {
		ln.folder = ln.heads[0].Folder
	}
}

// trim forgets what was read ahead of a chat that has to wait.
func (o *Outbox) trim(ln *lane) {
	for _, it := range ln.heads[min(1, len(ln.heads)):] {
		delete(o.live, it.id)
		o.buffered--
	}
	if len(ln.heads) > 1 {
		ln.heads = []*item{ln.heads[0]}
		ln.loaded = ln.heads[0].turn
	}
}

// ready lets a lane that is neither waiting nor running have its turn, if it
// may have one, and forgets a lane that is through.
func (o *Outbox) ready(ln *lane) {
	ln.state = idle
	switch {
	case ln.count == 0 && len(ln.heads) == 0:
		if ln.unsettled == 0 && ln.blocked == 0 {
			delete(o.lanes, ln.key)
		}
		return
	case ln.blocked > 0, ln.unsettled >= pipeline, ln.count <= 0:
		return
	}
	ln.state = ready
	g := ln.line.groups[ln.folder]
	if g == nil {
		g = &turns{folder: ln.folder}
		ln.line.groups[ln.folder] = g
		ln.line.ring = append(ln.line.ring, g)
	}
	g.lanes = append(g.lanes, ln)
}

// next takes the lane whose turn it is off the ring.
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
