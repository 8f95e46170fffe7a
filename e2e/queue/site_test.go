package queue

import (
	"testing"

	"go.uber.org/goleak"
)

// noLeaks fails the test if it leaves a goroutine behind.
func noLeaks(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}
