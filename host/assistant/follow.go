package assistant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
)

// Reload has Run take up what Options.Groups and Options.Plan say now. A group
// that is new gets its assistant with its first message. That of a group which
// is gone is ended as when the host stops: what it had not answered stays on
// disk, for the group may come back. An assistant that would be started in
// another manner now is ended when its turn is over.
// What waits for an operator is tried again at once.
func (m *Manager) Reload() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mended("")
}

// follow brings the conversations in line with the configured groups. The error
// joins what could not be read of some; those are tried again at the next call
// of enter.
func (m *Manager) follow() error {
	m.opening.Lock()
	defer m.opening.Unlock()
	now := m.o.Groups()
	m.mu.Lock()
	same := m.known == now
	m.known = now
	m.mu.Unlock()
	if same {
		return nil
	}
	m.leaveGone(now)
	m.markStale()
	var errs []error
	for _, g := range now.All() {
		if g.Assistant == "" || m.has(g.Folder) {
			continue
		}
		c, threads, err := m.open(g)
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

// leaveGone ends the conversations of groups that are configured no longer, or
// with another chat or no assistant.
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

// left says whether the group has left the configuration.
func (c *chat) left() bool { return c.ctx.Err() != nil }

// within is ctx, but done too when the group leaves the configuration.
func (c *chat) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// forgetLeft lets go of a chat that has left once nobody works with it.
// If its group has come back meanwhile, it is opened anew. The caller holds mu.
func (m *Manager) forgetLeft(c *chat) {
	if !c.left() || c.running > 0 || c.quick.busy || c.patient.busy || c.speech.busy || c.users > 0 || m.byGroup[c.group.Folder] != c {
		return
	}
	delete(m.byGroup, c.group.Folder)
	m.all = slices.DeleteFunc(m.all, func(other *conversation) bool { return other.chat == c })
	m.opened = slices.DeleteFunc(m.opened, func(other *conversation) bool { return other.chat == c })
	m.known = nil
	signal(m.wake)
}

// errLeaving is of a group that was removed and is back before its assistant
// has ended.
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

// configured is a chat's group as it is now.
func (m *Manager) configured(c *chat) groups.Group {
	if g, ok := m.o.Groups().ByFolder(c.group.Folder); ok {
		return g
	}
	return c.group // which has left a moment ago
}

// manner is how an assistant is run: what a running one cannot take up.
type manner struct {
	main   bool
	plan   Plan
	mounts []mounts.Mount
}

func (m *Manager) mannerOf(g groups.Group) (*manner, error) {
	plan, err := m.o.Plan(g)
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

// markStale looks which running assistants would be run in another manner now.
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
		now, err := m.mannerOf(m.configured(c.chat))
		m.mu.Lock()
		c.stale = err != nil || !reflect.DeepEqual(now, then)
		signal(c.nudge)
		m.mu.Unlock()
	}
}
