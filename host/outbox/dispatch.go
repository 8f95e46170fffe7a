package outbox

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// look is how often a send in flight is looked at for its progress.
const look = time.Second

// dispatcher gives the lanes their turns. Run owns it.
type dispatcher struct {
	o        *Outbox
	wg       sync.WaitGroup // the sends in flight
	limiters map[string]*rate.Limiter
	moved    []*item // whose progress is to be told
}

// Run sends what is kept until ctx is done, and returns once the sends in
// flight have ended and what they brought is recorded. A send that was cut off
// is taken up by the next Run, under the same message id.
func (o *Outbox) Run(ctx context.Context) error {
	d := &dispatcher{o: o, limiters: map[string]*rate.Limiter{}}
	settled := make(chan struct{})
	stop := make(chan struct{})
	go func() {
		defer close(settled)
		o.settleAll(stop)
	}()
	o.poke()
	d.loop(ctx)
	d.wg.Wait()
	close(stop)
	<-settled
	return nil
}

// Wake ends the waits after errors of a channel's chats: it is connected again.
func (o *Outbox) Wake(channelName string) {
	o.mu.Lock()
	now := time.Now()
	for _, ln := range o.waits {
		if ln.key.channel == channelName && ln.state == waiting && ln.backoff {
			ln.at = now
			if len(ln.heads) > 0 {
				it := ln.heads[0]
				it.Parts[it.pos].Next = time.Time{}
			}
		}
	}
	heap.Init(&o.waits)
	o.mu.Unlock()
	o.poke()
}

// poke makes the dispatcher look again. It never blocks.
func (o *Outbox) poke() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

func (d *dispatcher) loop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	sweep := time.Now()
	for {
		if now := time.Now(); !now.Before(sweep) {
			d.o.expire(now)
			sweep = now.Add(time.Hour)
		}
		held := d.o.releaseHolds()
		next := d.round(ctx)
		for _, it := range d.moved {
			d.o.notify(it)
		}
		if held && (next.IsZero() || time.Until(next) > look) {
			next = time.Now().Add(look)
		}
		if next.IsZero() || next.After(sweep) {
			next = sweep
		}
		timer.Reset(time.Until(next))
		select {
		case <-ctx.Done():
			return
		case <-d.o.wake:
		case <-timer.C:
		}
	}
}

// round moves what is due and starts what may start. It returns when the next
// lane is due; zero: none is.
func (d *dispatcher) round(ctx context.Context) time.Time {
	o := d.o
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	d.moved = d.moved[:0]
	for len(o.waits) > 0 && !o.waits[0].at.After(now) {
		ln := heap.Pop(&o.waits).(*lane)
		if ln.state == running {
			d.watch(ln, now)
		} else {
			o.ready(ln)
		}
	}
	for _, l := range o.lines {
		for l.hold.since.IsZero() && l.busy < o.opts.Parallel && len(l.ring) > 0 && ctx.Err() == nil && o.settler.len() < maxOutcomes {
			d.start(ctx, l.next(), now)
		}
	}
	if len(o.waits) == 0 {
		return time.Time{}
	}
	return o.waits[0].at
}

// start begins a lane's attempt, unless its group's rate wants it to wait.
func (d *dispatcher) start(ctx context.Context, ln *lane, now time.Time) {
	o := d.o
	if ln.blocked > 0 || ln.count <= 0 {
		o.ready(ln)
		return
	}
	if !ln.paid {
		delay := d.delay(ln.folder, now)
		ln.paid = true
		if delay > 0 {
			o.wait(ln, now.Add(delay), false)
			return
		}
	}
	ln.paid = false
	ln.line.busy++
	ln.attempt = &attempt{seen: now}
	ln.state, ln.at = running, now.Add(look)
	heap.Push(&o.waits, ln)
	d.wg.Go(func() { o.turnOf(ctx, ln) })
}

// delay is how long a group's next attempt has to wait for its rate.
func (d *dispatcher) delay(folder string, now time.Time) time.Duration {
	r := d.o.opts.Rate(folder)
	if r.PerMinute <= 0 {
		return 0
	}
	limit := rate.Limit(r.PerMinute / 60)
	l := d.limiters[folder]
	if l == nil {
		l = rate.NewLimiter(limit, max(r.Burst, 1))
		d.limiters[folder] = l
	}
	if l.Limit() != limit || l.Burst() != max(r.Burst, 1) {
		l.SetLimitAt(now, limit)
		l.SetBurstAt(now, max(r.Burst, 1))
	}
	return l.ReserveN(now, 1).DelayFrom(now)
}

// watch looks at a send in flight: what moved is told, and one that does not
// move gives its slot to another chat, so that hanging chats do not stop the
// channel's others.
func (d *dispatcher) watch(ln *lane, now time.Time) {
	a := ln.attempt
	if sent := a.sent.Load(); sent != a.told {
		a.told, a.seen = sent, now
		if a.it != nil && a.pos < len(a.it.Parts) {
			a.it.Parts[a.pos].Sent = sent
			d.moved = append(d.moved, a.it)
		}
	}
	if !a.stalled && now.Sub(a.seen) >= d.o.opts.Stall {
		a.stalled = true
		ln.line.busy--
	}
	ln.at = now.Add(look)
	heap.Push(&d.o.waits, ln)
}
