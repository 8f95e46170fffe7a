package calls

import (
	"sync"
	"testing"

	"github.com/longshore-bridge/longshore/host/remote/tokens"
)

// TestLocksEnd: one call at a time is about a delivery, and no lock stays behind them.
func TestLocksEnd(t *testing.T) {
	var s Store
	var all sync.WaitGroup
	n := 0
	for range 100 {
		all.Go(func() {
			defer s.Lock(tokens.Identity{Folder: "a"}, "id")()
			n++
		})
	}
	all.Wait()
	if n != 100 || len(s.locks.of) > 0 {
		t.Errorf("%d calls; locks stay: %v", n, s.locks.of)
	}
}
