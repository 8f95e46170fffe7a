package assistant

import (
	"fmt"
	"slices"
	"time"
)

// Task begins a run of a scheduled task in a thread of a group's chat: a turn whose
// prompt is text. The run is on disk when Task returns, and gets the same care as a
// member's message. If isolated is set, the turn has a session of its own, which nothing
// else joins and which is forgotten afterwards; its answers go to the thread.
//
// run is the run's id, 32 hexadecimal digits. A run that was begun before is not begun
// again; open is false if it is over.
func (m *Manager) Task(folder, thread, run, text string, isolated bool) (open bool, err error) {
	c, err := m.enter(folder)
	if err != nil {
		return false, fmt.Errorf("begin task: %w", err)
	}
	defer m.exit(c)
	if m.threads(c.group) == 0 {
		thread = ""
	}
	c.receiving.Lock()
	defer c.receiving.Unlock()
	if c.store.knows(run) {
		return !c.store.over(run), nil
	}
	return true, m.keep(c, &record{Key: run, Kind: taskKind, Thread: thread, Text: text, Isolated: isolated, Time: time.Now()})
}

// over says whether a turn has ended that held the record of that key.
func (s *store) over(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.done, key)
}

// isolate cuts records that may be handed over so that an isolated task is alone: what
// calls the assistant before it goes first, and everything else waits.
func isolate(free []*record) []*record {
	i := slices.IndexFunc(free, func(r *record) bool { return r.Isolated })
	switch {
	case i < 0:
		return free
	case slices.ContainsFunc(free[:i], (*record).calls):
		return free[:i]
	}
	return free[i : i+1]
}

// isolatedNext says whether an isolated task is handed over next.
func (c *conversation) isolatedNext() bool {
	free := c.free()
	return len(free) == 1 && free[0].Isolated
}
