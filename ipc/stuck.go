package ipc

import (
	"strings"
	"time"
)

// Stuck is the first request of a queue while the host defers it; all others wait behind it.
type Stuck struct {
	Request string // its id, printable
	Since   time.Time
	Why     Refusal
}

// Stuck returns what a group's queue waits for; ok is false if it waits for nothing.
func (s *Spool) Stuck(folder string) (stuck Stuck, ok bool) {
	g := s.all()[folder]
	if g == nil {
		return stuck, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stuck, g.stuck.Request != ""
}

// stick notes which request a batch has ended at, and why; nil: at none.
func (g *group) stick(name string, why *Refusal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if why == nil {
		g.stuck = Stuck{}
		return
	}
	_, file := placeOf(name)
	now := Stuck{Request: printable(strings.TrimSuffix(file, suffix)), Since: time.Now(), Why: *why}
	if g.stuck.Request == now.Request {
		now.Since = g.stuck.Since
	}
	g.stuck = now
}
