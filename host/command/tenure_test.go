package command

import (
	"testing"
	"testing/synctest"
	"time"
)

// A host that was to yield, and hung at its end, renewed its lease for ever.
func TestAHostThatHangsAtItsEndKeepsTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hangs := &tenure{kept: make(chan struct{})}
		began := time.Now()
		if !hangs.outlives(20*time.Second) || time.Since(began) != 20*time.Second {
			t.Error("it goes on")
		}
		ends := &tenure{kept: make(chan struct{})}
		time.AfterFunc(10*time.Second, func() { close(ends.kept) })
		if ends.outlives(20 * time.Second) {
			t.Error("one that ends in time has hung")
		}
	})
}
