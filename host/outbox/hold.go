package outbox

import (
	"context"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/store"
)

// hold is a channel's time of waiting for an operator: all its holds so far,
// and the one that lasts. It is recorded, since a delivery's time does not run
// while its channel is held.
type hold struct {
	total time.Duration
	since time.Time // zero: not held
	again time.Time // when to try again, if Status is of no help
	down  bool      // Status has said that it is not connected
}

// until is the time held in all at now.
func (h hold) until(now time.Time) time.Duration {
	if h.since.IsZero() {
		return h.total
	}
	return h.total + max(0, now.Sub(h.since))
}

// deadline is when a delivery is given up: MaxAge after it was accepted, and
// later by the time that its channel was held since. The record has its three
// parts, created, held and the channel's hold, and not their sum: so the end of
// a hold is one row however much waits, and a new MaxAge is everybody's. The
// caller holds mu.
func (o *Outbox) deadline(it *item, now time.Time) time.Time {
	held := o.line(it.Channel).hold.until(now) - it.held
	return it.Created.Add(o.limits().MaxAge + max(0, held))
}

func (o *Outbox) heldTotal(channelName string, now time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.line(channelName).hold.until(now)
}

// startHold stops a channel's sends.
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

// releaseHolds lets held channels send again that are connected now, or whose
// time to try has come. It says whether a channel is still held.
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
	status, known := l.ch.(channel.Status)
	connected := false
	if known {
		connected, _ = status.Connected()
	}
	o.mu.Lock()
	now := time.Now()
	l.hold.down = l.hold.down || known && !connected
	// A channel that never was down says nothing by being connected.
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

// recordHold keeps a hold over a restart. If the disk refuses, a deadline may
// come early after the next start, no more.
func (o *Outbox) recordHold(name string, h hold) {
	err := o.commit.Do(context.Background(), func(t *store.Tx) error {
		_, err := t.Exec(`INSERT INTO hold (channel, total, since) VALUES (?, ?, ?)
			ON CONFLICT (channel) DO UPDATE SET total = excluded.total, since = excluded.since`,
			name, int64(h.total), nano(h.since))
		return err
	}, nil)
	if err != nil {
		o.opts.Log.Error("record a hold", "channel", name, "error", err)
	}
}
