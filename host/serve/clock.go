package serve

import (
	"sync"
	"time"
)

// clock compares the time of this machine with the platforms'. An answer of a platform's
// API says its time; from there on, the time that has passed is measured without the
// machine's clock, so that a clock that is set wrong later is noticed too.
type clock struct {
	mu   sync.Mutex
	last map[string]heard // by channel
}

type heard struct {
	platform time.Time // by the platform
	here     time.Time // with the monotonic reading
}

// clockMemory is how long a platform's word counts. A machine that was suspended since
// measures wrongly until the next one.
const clockMemory = time.Hour

// set takes the platform's time from a channel.
func (c *clock) set(channel string, platform time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		c.last = map[string]heard{}
	}
	c.last[channel] = heard{platform, time.Now()}
}

// ahead returns how far this machine's clock is ahead, negative if it is behind: the
// least that any platform says, since one alone may be wrong. ok is false if none has said
// anything lately.
func (c *clock) ahead() (least time.Duration, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.last {
		passed := time.Since(t.here)
		if passed > clockMemory {
			continue
		}
		off := time.Now().Round(0).Sub(t.platform.Add(passed)) // by the wall clock
		if !ok || off.Abs() < least.Abs() {
			least, ok = off, true
		}
	}
	return least, ok
}
