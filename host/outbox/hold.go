package outbox

import (
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
)

// hold is a channel's time of waiting for an operator: all its holds so far,
// and the one that lasts. It is recorded, since deadlines move by it.
type hold struct {
	total time.Duration
	since time.Time // zero: not held
	again time.Time // when to try, where the channel's Status does not tell
	down  bool      // Status has said that it is not connected
}

// until is the time held in all at now.
func (h hold) until(now time.Time) time.Duration {
	if h.since.IsZero() {
		return h.total
	}
	return h.total + max(0, now.Sub(h.since))
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
	if !l.hold.since.IsZero() {
		o.mu.Unlock()
		return
	}
	l.hold.since, l.hold.again, l.hold.down = now, now.Add(o.opts.HoldFor), false
	h := l.hold
	o.mu.Unlock()
	o.recordHold(l.name, h)
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
		status, tells := l.ch.(channel.Status)
		connected := false
		if tells {
			connected, _ = status.Connected()
		}
		o.mu.Lock()
		now := time.Now()
		l.hold.down = l.hold.down || tells && !connected
		// A channel that never was down says nothing by being connected.
		due := !now.Before(l.hold.again)
		release := tells && connected && (l.hold.down || due) || !tells && due
		if release {
			l.hold.total = l.hold.until(now)
			l.hold.since = time.Time{}
		}
		h := l.hold
		o.mu.Unlock()
		if release {
			o.recordHold(l.name, h)
		}
		held = held || !release
	}
	return held
}

// recordHold keeps a hold over a restart. Where the disk refuses, a deadline
// may come early after the next start, no more.
func (o *Outbox) recordHold(name string, h hold) {
	err := o.commit.do(func(t *tx) error {
		_, err := t.exec(`INSERT INTO hold (channel, total, since) VALUES (?, ?, ?)
			ON CONFLICT (channel) DO UPDATE SET total = excluded.total, since = excluded.since`,
			name, int64(h.total), nano(h.since))
		return err
	}, nil)
	if err != nil {
		o.opts.Log.Error("record a hold", "channel", name, "error", err)
	}
}
