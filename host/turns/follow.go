package turns

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// Reload makes Run look at Options.Plans again, and has messages that wait for an operator or for
// an engine retried at once. Run then calls follow, which finds what has changed.
func (m *Manager) Reload() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = nil
	m.mended("")
}

// follow updates the conversations to the configured groups, if Plans has another registry
// than last time. A new group gets its assistant with its first message. The assistant of a
// removed group is ended as if the host stopped: its unanswered messages stay kept,
// because the group may come back. An assistant whose plan has changed is ended after its
// turn. The error joins the errors of groups that could not be read; the next call tries
// those again.
func (m *Manager) follow() error {
	m.opening.Lock()
	defer m.opening.Unlock()
	now := m.o.Plans.Registry()
	m.mu.Lock()
	same := m.known == now
	m.known = now
	m.mu.Unlock()
	if same {
		return nil
	}
	m.leaveGone(now)
	m.markStale()
	opens := slices.DeleteFunc(slices.Clone(now.All()), func(g groups.Group) bool { return g.Assistant == "" || m.has(g.Folder) })
	var all map[string]*leftover
	var errs []error
	if len(opens) > 0 {
		var err error
		if all, err = load(m.o.State); err != nil {
			errs, opens = append(errs, err), nil
		}
	}
	for _, g := range opens {
		from := all[g.Folder]
		if from == nil {
			from = &leftover{}
		}
		c, threads, err := m.open(g, from)
		if err != nil {
			errs = append(errs, fmt.Errorf("group %s: read kept messages: %w", g.Folder, err))
			continue
		}
		m.mu.Lock()
		m.all, m.opened, m.byGroup[g.Folder] = append(m.all, threads...), append(m.opened, threads...), c
		m.mu.Unlock()
	}
	err := errors.Join(errs...)
	m.mu.Lock()
	defer m.mu.Unlock()
	place := map[string]int{}
	for i, g := range now.All() {
		place[g.Folder] = i
	}
	slices.SortStableFunc(m.all, func(a, b *conversation) int { return cmp.Compare(place[a.group.Folder], place[b.group.Folder]) })
	if err != nil {
		m.known = nil
	}
	return err
}

func (m *Manager) has(folder string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byGroup[folder] != nil
}

func (m *Manager) takeOpened() []*conversation {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.opened
	m.opened = nil
	return all
}

// leaveGone ends the conversations of groups that were removed, or that have another chat
// or no assistant now.
func (m *Manager) leaveGone(now *groups.Registry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range maps.Clone(m.byGroup) {
		g, ok := now.ByFolder(c.group.Folder)
		if ok && g.Assistant != "" && g.Chat == c.group.Chat && g.Channel == c.group.Channel {
			continue
		}
		c.leave()
		m.queue = slices.DeleteFunc(m.queue, func(q *conversation) bool {
			if q.chat == c {
				q.phase = idle
			}
			return q.chat == c
		})
		m.forgetLeft(c)
	}
}

// forgetLeft releases a removed chat once nothing uses it. If its group has come back
// meanwhile, it is opened again. The caller holds mu.
func (m *Manager) forgetLeft(c *chat) {
	if !c.left() || c.running > 0 || c.inbox.Busy() || c.users > 0 || m.byGroup[c.group.Folder] != c {
		return
	}
	delete(m.byGroup, c.group.Folder)
	m.all = slices.DeleteFunc(m.all, func(other *conversation) bool { return other.chat == c })
	m.opened = slices.DeleteFunc(m.opened, func(other *conversation) bool { return other.chat == c })
	m.known = nil
	wake.Up(m.wake)
}

// errLeaving says that a group was removed and added again before its assistant has ended.
var errLeaving = errors.New("the group's assistant is still being ended")

// enter returns the chat of a group, for use until exit.
func (m *Manager) enter(folder string) (*chat, error) {
	err := m.follow()
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.byGroup[folder]
	switch {
	case c == nil && err != nil:
		return nil, err
	case c == nil:
		return nil, fmt.Errorf("group %q has no assistant", folder)
	case c.left():
		return nil, fmt.Errorf("group %s: %w", folder, errLeaving)
	}
	c.users++
	return c, nil
}

func (m *Manager) exit(c *chat) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.users--
	m.forgetLeft(c)
}

// manner is the part of a plan that a running assistant cannot change.
type manner struct {
	main   bool
	plan   Plan
	mounts []mounts.Mount
}

func (m *Manager) mannerOf(g groups.Group) (*manner, error) {
	plan, err := m.o.Plans.Plan(g)
	if err != nil {
		return nil, err
	}
	if plan.Runtime == nil {
		plan.Runtime = m.o.Runtime
	}
	table, err := mounts.Table(m.o.Layout, g)
	if err != nil {
		return nil, err
	}
	return &manner{g.Main, plan, table}, nil
}

// markStale marks the running assistants whose plan has changed.
func (m *Manager) markStale() {
	m.mu.Lock()
	started := map[*conversation]*manner{}
	for _, c := range m.all {
		if c.manner != nil {
			started[c] = c.manner
		}
	}
	m.mu.Unlock()
	for c, then := range started {
		now, err := m.mannerOf(c.configured())
		m.mu.Lock()
		c.stale = err != nil || !reflect.DeepEqual(now, then)
		wake.Up(c.nudge)
		m.mu.Unlock()
	}
}
