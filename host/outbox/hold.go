package outbox

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state"
)

// hold is the time that a channel has waited for an operator: the total of the earlier
// holds, and the present one. It is recorded, because a delivery's time stops while its
// channel is held.
type hold struct {
	total time.Duration
	since time.Time // zero: not held
	again time.Time // when to try again if the channel has no Status
	down  bool      // Status has reported that the channel is not connected
}

// until returns the total time held up to now.
func (h hold) until(now time.Time) time.Duration {
	if h.since.IsZero() {
		return h.total
	}
	return h.total + max(0, now.Sub(h.since))
}

// deadline returns when a delivery fails as expired: MaxAge after it was accepted, plus the
// time that its channel was held since. The record has the three values (created, held,
// the channel's hold) and not their sum: so the end of a hold changes one row, and a new
// MaxAge applies to every delivery. The caller holds mu.
func (o *Outbox) deadline(it *item, now time.Time) time.Time {
	held := o.line(it.Channel).hold.until(now) - it.Held
	return it.Created.Add(o.limits().MaxAge + max(0, held))
}

func (o *Outbox) heldTotal(channelName string, now time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.line(channelName).hold.until(now)
}

// startHold stops a channel from sending.
func (o *Outbox) startHold(l *line) {
	o.mu.Lock()
	now := time.Now()
	held := !l.hold.since.IsZero()
	if !held {
		l.hold = hold{total: l.hold.total, since: now, again: now.Add(o.opts.HoldFor)}
	}
	h := l.hold
	o.mu.Unlock()
	if !held {
		o.recordHold(l.name, h)
	}
}

// releaseHolds lets held channels send again if they are connected, or if it is time to
// try again. It reports whether a channel is still held.
func (o *Outbox) releaseHolds() (held bool) {
	o.mu.Lock()
	var lines []*line
	for _, l := range o.lines {
		if !l.hold.since.IsZero() {
			lines = append(lines, l)
		}
	}
	o.mu.Unlock()
	for _, l := range lines {
		held = !o.releaseHold(l) || held
	}
	return held
}

func (o *Outbox) releaseHold(l *line) bool {
	status, known := l.channel().(channel.Status)
	connected := false
	if known {
		connected, _ = status.Connected()
	}
	o.mu.Lock()
	now := time.Now()
	l.hold.down = l.hold.down || known && !connected
	// If a channel was never disconnected, being connected is no news.
	due := !now.Before(l.hold.again)
	release := known && connected && (l.hold.down || due) || !known && due
	if release {
		l.hold = hold{total: l.hold.until(now)}
	}
	h := l.hold
	o.mu.Unlock()
	if release {
		o.recordHold(l.name, h)
	}
	return release
}

// recordHold records a hold, so that it survives a restart. If the write fails, a deadline
// may come early after the next start; nothing else is lost.
func (o *Outbox) recordHold(name string, h hold) {
	err := o.state.Do(context.Background(), func(t *state.Tx) error {
		return records.SaveHold(t, name, h.total, h.since)
	}, nil)
	if err != nil {
		o.opts.Log.Error("record a hold", "channel", name, "error", err)
	}
}

// limiter returns the limiter of a group's attempts, at its present rate; nil if the rate
// is unlimited. The caller holds mu.
func (o *Outbox) limiter(folder string, now time.Time) *rate.Limiter {
	r := o.opts.Settings.SendRate(folder)
	if r.PerMinute <= 0 {
		return nil
	}
	limit := rate.Limit(r.PerMinute / 60)
	l := o.limiters[folder]
	if l == nil {
		l = rate.NewLimiter(limit, max(r.Burst, 1))
		o.limiters[folder] = l
	}
	if l.Limit() != limit || l.Burst() != max(r.Burst, 1) {
		l.SetLimitAt(now, limit)
		l.SetBurstAt(now, max(r.Burst, 1))
	}
	return l
}
