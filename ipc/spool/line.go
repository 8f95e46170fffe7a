package spool

import (
	"sync"

	"github.com/longshore-bridge/longshore/internal/wake"
)

// line holds the groups that have something to hand out, each at most once. A consumer
// receives from some, then calls next.
type line struct {
	some chan struct{} // of capacity one: holds a token while the line is not empty

	mu     sync.Mutex
	groups []*group
}

func newLine() *line { return &line{some: make(chan struct{}, 1)} }

func (l *line) add(g *group) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.groups = append(l.groups, g)
	wake.Up(l.some)
}

// next removes and returns the first group. It returns nil if another consumer was
// faster.
func (l *line) next() *group {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.groups) == 0 {
		return nil
	}
	g := l.groups[0]
	l.groups[0] = nil
	if l.groups = l.groups[1:]; len(l.groups) > 0 {
		wake.Up(l.some)
	}
	return g
}
