// Package wake wakes goroutines that wait for something to do, or for a time.
package wake

import (
	"context"
	"iter"
	"time"
)

// Up puts a value into c, which has room for one, unless it holds one: whoever reads from c
// looks at all that has changed since.
func Up(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Sleep waits for d. It returns false if ctx was done before.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// Every yields the time every d, at first after d, until ctx is done. If the caller takes longer,
// a time is left out.
func Every(ctx context.Context, d time.Duration) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		tick := time.Tick(d)
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick:
				if !yield(now) {
					return
				}
			}
		}
	}
}
