package serve

import (
	"testing"
	"testing/synctest"
	"time"
)

// Of two platforms, the one that is nearer counts: one alone may be wrong.
func TestTheClockIsComparedWithThePlatforms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c clock
		is := func(want time.Duration, known bool) {
			t.Helper()
			if got, ok := c.ahead(); got != want || ok != known {
				t.Errorf("ahead %v %t, want %v %t", got, ok, want, known)
			}
		}
		is(0, false)
		c.set("slack", time.Now().Add(24*time.Hour))
		time.Sleep(30 * time.Minute)
		is(-24*time.Hour, true)
		c.set("discord", time.Now().Add(-time.Second))
		is(time.Second, true)
		time.Sleep(2 * time.Hour) // nobody has said anything lately
		is(0, false)
	})
}
