package serve

import (
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/operator"
)

// missingMounts finds the directories that the operator shares with groups and that are missing. While
// a network file system hangs, the last answer counts.
type missingMounts struct {
	mu   sync.Mutex
	busy chan struct{} // closed when the search under way has ended; nil: there is none
	last []operator.MissingMount
}

// lookWait is how long now waits for a search.
const lookWait = time.Second

// now returns what look finds, or what it found last if it takes longer than lookWait. look runs in a
// goroutine of its own, one at a time.
func (c *missingMounts) now(look func() []operator.MissingMount) []operator.MissingMount {
	c.mu.Lock()
	busy := c.busy
	if busy == nil {
		busy = make(chan struct{})
		c.busy = busy
		go func() {
			found := look()
			c.mu.Lock()
			defer c.mu.Unlock()
			c.last, c.busy = found, nil
			close(busy)
		}()
	}
	c.mu.Unlock()
	select {
	case <-busy:
	case <-time.After(lookWait):
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// MissingMounts returns the shared directories that are missing now.
func (h *Host) MissingMounts() []operator.MissingMount {
	return h.missing.now(func() (all []operator.MissingMount) {
		now := h.Now()
		for _, g := range now.Config.Groups {
			if !g.Main && len(g.Mounts) == 0 {
				continue
			}
			for _, m := range now.Mounts(g.Folder).Gone() {
				all = append(all, operator.MissingMount{Group: g.Folder, Container: m.Container, Host: m.Host})
			}
		}
		return all
	})
}
