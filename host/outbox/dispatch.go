package outbox

import (
	"container/heap"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
)

// look is the interval at which a send in flight is checked for progress, and a
// disconnected channel with waiting chats for its connection.
const look = time.Second

// dispatcher lets the lanes send. Run owns it.
//
// It is one loop that sees all lanes, because fairness and rates are decisions
// among all of them. A goroutine for each chat, with a semaphore of Parallel
// places for each channel, was tried: it is 71 lines shorter, but the chats of
// a busy group take the places as they come free, so that 75 to 810 sends went
// ahead of a quiet group's (at most 2 may), and 10,000 deliveries drained at
// half the rate.
type dispatcher struct {
	o    *Outbox
	wg   sync.WaitGroup // the attempts in flight
	down map[*line]bool // the channel was not connected when it was asked last
}

// wakeReconnected ends the backoff of the chats whose channel has reconnected. It reports
// whether a channel with waiting chats is still disconnected.
func (d *dispatcher) wakeReconnected() (down bool) {
	o := d.o
	o.mu.Lock()
	var lines []*line
	if len(o.waits) > 0 {
		lines = slices.Collect(maps.Values(o.lines))
	}
	o.mu.Unlock()
	for _, l := range lines {
		status, ok := l.channel().(channel.Status)
		if !ok {
			continue
		}
		connected, _ := status.Connected()
		if connected && d.down[l] {
			o.endBackoff(l)
		}
		d.down[l] = !connected
		down = down || !connected
	}
	return down
}

func (o *Outbox) endBackoff(l *line) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	for _, ln := range o.waits {
		if ln.line == l && ln.state == waiting && ln.backoff {
			ln.at = now
			if len(ln.heads) > 0 {
				it := ln.heads[0]
				it.Parts[it.pos].Next = time.Time{}
			}
		}
	}
	heap.Init(&o.waits)
}

// Reload makes the dispatcher ask Limits and Rate again. A message that already waits for
// its group's rate keeps its time.
func (o *Outbox) Reload() { o.poke() }

func (d *dispatcher) loop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		held, down := d.o.releaseHolds(), d.wakeReconnected()
		next := d.round(ctx)
		if (held || down) && (next.IsZero() || time.Until(next) > look) {
			next = time.Now().Add(look)
		}
		timer.Stop()
		if !next.IsZero() {
			timer.Reset(time.Until(next))
		}
		select {
		case <-ctx.Done():
			return
		case <-d.o.wake:
		case <-timer.C:
		}
	}
}

// round moves lanes that are due and starts lanes that may start. It returns the time at
// which the next lane is due; zero if none is.
func (d *dispatcher) round(ctx context.Context) time.Time {
	o := d.o
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	for len(o.waits) > 0 && !o.waits[0].at.After(now) {
		ln := heap.Pop(&o.waits).(*lane)
		if ln.state == running {
			d.watch(ln, now)
		} else {
			o.schedule(ln)
		}
	}
	parallel := o.limits().Parallel
	for _, l := range o.lines {
		for l.hold.since.IsZero() && l.busy < parallel && len(l.ring) > 0 && ctx.Err() == nil && len(o.outcomes) < maxOutcomes {
			d.start(ctx, l.next(), now)
		}
	}
	if len(o.waits) == 0 {
		return time.Time{}
	}
	return o.waits[0].at
}

// start begins a lane's attempt, unless the lane must wait for its group's rate.
func (d *dispatcher) start(ctx context.Context, ln *lane, now time.Time) {
	o := d.o
	if ln.blocked > 0 || ln.count <= 0 {
		o.schedule(ln)
		return
	}
	if !ln.paid {
		ln.paid = true
		if delay := d.delay(ln.folder, now); delay > 0 {
			o.wait(ln, now.Add(delay), false)
			return
		}
	}
	ln.paid = false
	ln.line.busy++
	a := &attempt{ln: ln, moved: now, rate: o.limiter(ln.folder, now)}
	ln.attempt, ln.state, ln.at = a, running, now.Add(look)
	heap.Push(&o.waits, ln)
	d.wg.Go(func() { o.serve(ctx, a) })
}

// delay returns how long a group's next attempt must wait for the group's rate.
func (d *dispatcher) delay(folder string, now time.Time) time.Duration {
	if l := d.o.limiter(folder, now); l != nil {
		return l.ReserveN(now, 1).DelayFrom(now)
	}
	return 0
}

// watch checks a send in flight. If its bytes move, that is a change. If they do not, the
// send gives its place to another chat, so that hanging chats do not stop the channel's
// other chats.
func (d *dispatcher) watch(ln *lane, now time.Time) {
	a := ln.attempt
	if sent := a.sent.Load(); sent != a.seen {
		a.seen, a.moved = sent, now
		if a.it != nil && a.pos < len(a.it.Parts) {
			a.it.Parts[a.pos].Sent = sent
			d.o.changed(a.it)
		}
	}
	if !a.stalled && now.Sub(a.moved) >= d.o.opts.Stall {
		a.stalled = true
		ln.line.busy--
	}
	ln.at = now.Add(look)
	heap.Push(&d.o.waits, ln)
}
