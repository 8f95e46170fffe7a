package turns

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// New loads what an earlier host has left, and judges its turns unless Idle is set. It starts
// nothing. The directories of Layout must exist.
func New(o Options) (*Manager, error) {
	m := &Manager{o: o.withDefaults(), wake: make(chan struct{}, 1), byGroup: map[string]*chat{}, running: map[string]int{}, troubles: map[cause.Cause]int64{}}
	m.files = inbound.NewFetcher(inbound.Options{Layout: m.o.Layout, Channels: m.o.Platforms, Disk: m.o.Disk, MaxFile: m.o.MaxFile, Log: m.o.Log})
	var err error
	if m.secret, err = inbound.Secret(m.o.State); err != nil {
		return nil, err
	}
	if err := endRuns(m.o.State); err != nil {
		return nil, err
	}
	if err := m.follow(); err != nil {
		return nil, err
	}
	return m, nil
}

// Run starts assistants until ctx is done. Then it ends them, and returns nil when all
// have ended. It is called once.
func (m *Manager) Run(ctx context.Context) error {
	var sessions sync.WaitGroup
	defer sessions.Wait()
	defer m.files.Start(ctx)()
	for {
		if err := m.follow(); err != nil {
			m.o.Log.Error("assistant cannot be called; a message to it tries again", "error", err)
		}
		for _, c := range m.takeOpened() {
			m.settleInterrupted(ctx, c)
			c.inbox.Kick()
		}
		m.finishOrders(ctx)
		next := m.schedule(func(c *conversation) {
			ctx, cancel := c.within(ctx)
			c.run, c.halt = context.WithCancelCause(ctx)
			sessions.Go(func() {
				defer cancel()
				newSession(m, c).run(c.run)
				m.ended(c)
			})
		})
		m.tellWaiting(ctx)
		m.tellNeverFetched(ctx)
		m.sortHeld(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-m.wake:
		case <-time.After(next):
		}
	}
}

// schedule queues the conversations that are called, starts as many as there is room
// for, and asks idle assistants to make room for the rest. It returns the time
// until a group's backoff is over.
func (m *Manager) schedule(start func(*conversation)) (next time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next = time.Hour
	now := time.Now()
	for _, c := range m.all {
		if c.left() {
			continue
		}
		if wait := c.gathers(now); wait > 0 {
			next = min(next, wait)
		}
		if c.phase == running && c.urgent() {
			wake.Up(c.nudge)
		}
		if c.phase == idle && c.fetches() {
			next = min(next, m.attendElsewhere(c, now))
			continue
		}
		if c.phase != idle || !c.called() {
			continue
		}
		if wait := c.notBefore.Sub(now); wait > 0 {
			next = min(next, wait)
			continue
		}
		c.phase, c.since = queued, now
		m.queue = append(m.queue, c)
	}
	// Those that were called in one go wait in the order of their messages.
	slices.SortStableFunc(m.queue, func(a, b *conversation) int { return a.firstCall().Compare(b.firstCall()) })
	var waiting []*conversation
	for _, c := range m.queue {
		if !c.called() || c.fetches() { // its calls made room for those of others
			m.dismiss(c)
			continue
		}
		if !m.hasRoom(c) {
			waiting = append(waiting, c)
			continue
		}
		c.place = m.freePlace(c)
		c.phase, c.since = running, now
		c.chat.running++
		m.running[c.on.Engine]++
		start(c)
	}
	m.queue = waiting
	m.makeRoom()
	for _, c := range m.queue {
		if wait := waitPatience - now.Sub(c.since); wait > 0 && m.occupied(c.chat) && !c.waits {
			next = min(next, wait)
		}
	}
	return next
}
