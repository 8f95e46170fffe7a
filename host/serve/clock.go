package serve

import (
	"sync"
	"time"
)

// clock compares this machine's clock with the platforms'. A channel reports the time in an answer of
// its platform; from then on the monotonic clock counts, so that a clock that is set wrong later is
// noticed too.
type clock struct {
	mu   sync.Mutex
	last map[string]heard // by channel
}

type heard struct {
	platform time.Time // by the platform's clock
	here     time.Time // when it came, with a monotonic reading
}

// clockMemory is how long a platform's time counts. After a suspend, the monotonic clock may be wrong
// until the next report.
const clockMemory = time.Hour

// set records the platform's time that a channel reports.
func (c *clock) set(channel string, platform time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		c.last = map[string]heard{}
	}
	c.last[channel] = heard{platform, time.Now()}
}

// ahead returns how far this machine's clock is ahead, negative if it is behind: the smallest difference
// to any platform, because one alone may be wrong. ok is false without a recent report.
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
