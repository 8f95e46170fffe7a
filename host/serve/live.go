package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/screen"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// live is what the host makes of one configuration. It never changes: a reload
// puts another one in its place. So whoever asks once works with one file.
type live struct {
	config   *config.Config
	applied  time.Time
	registry *groups.Registry
	layout   groups.Layout
	runtimes runtimes
	limits   outbox.Limits
	deny     *screen.Screen
	ask      *screen.Screen

	mu     sync.Mutex             // guards mounts
	mounts map[string]*mounts.Map // by folder; of a group without directories of the operator's from its first use on
}

// now is the configuration that is in force.
func (h *Host) now() *live { return h.live.Load() }

// Config is the configuration that is in force.
func (h *Host) Config() *config.Config { return h.now().config }

// Registry is the groups that are configured now.
func (h *Host) Registry() *groups.Registry         { return h.now().registry }
func (h *Host) mountsOf(folder string) *mounts.Map { return h.now().mountsOf(folder) }
func (h *Host) limits() outbox.Limits              { return h.now().limits }

// screenNow is which files may not leave, and which wait for an approval.
func (h *Host) screenNow() (deny, ask *screen.Screen) { return h.now().deny, h.now().ask }

func (h *Host) wait() time.Duration { return h.Config().Limits.Wait.Std() }

// keep is for how long the queue keeps results and what was refused.
func (h *Host) keep() spool.Keep {
	l := h.Config().Limits
	return spool.Keep{Results: l.KeepResults.Std(), Errors: l.KeepErrors.Std()}
}

func foldersOf(cfg *config.Config) (all []string) {
	for _, g := range cfg.Groups {
		all = append(all, g.Folder)
	}
	return all
}

// freeDisk is how much of the disk stays free.
func (h *Host) freeDisk() int64 { return h.limits().FreeDisk }

// rate is that of a group's sends. What a group that is gone has left in the outbox
// goes out at the rate of a group that states none.
func (h *Host) rate(folder string) outbox.Rate {
	now := h.now()
	r := now.config.Limits.Rate
	if g, ok := now.registry.ByFolder(folder); ok {
		r = g.Rate
	}
	return outbox.Rate{PerMinute: float64(r.PerMinute), Burst: r.Burst}
}

// prepare opens what cfg needs beside before, which is
// nil at a start. What before has and cfg leaves as it is, is shared: a group's
// mounts keep the directories that they have seen.
func (h *Host) prepare(ctx context.Context, cfg *config.Config, before *live) (_ *live, err error) {
	l := &live{config: cfg, applied: time.Now(), layout: h.Layout, mounts: map[string]*mounts.Map{}, limits: limitsOf(cfg)}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.closeBut(before))
		}
	}()
	if l.registry, err = cfg.Registry(); err != nil {
		return nil, err
	}
	if l.deny, l.ask, err = cfg.Screens(); err != nil {
		return nil, err
	}
	for _, g := range cfg.Groups {
		if m := before.sees(g); m != nil {
			l.mounts[g.Folder] = m
			continue
		}
		if !g.Main && len(g.Mounts) == 0 {
			continue // all that it sees is the host's to make: nothing to remember of it
		}
		if l.mounts[g.Folder], err = mounts.New(h.Layout, g); err != nil {
			return nil, err
		}
		l.mounts[g.Folder].Refresh() // what is hidden now stays hidden wherever it is moved
	}
	return l, h.openRuntimes(ctx, l)
}

// mountsOf is what a group sees of the host; nil if no such group is configured.
func (l *live) mountsOf(folder string) *mounts.Map {
	l.mu.Lock()
	defer l.mu.Unlock()
	g, ok := l.registry.ByFolder(folder)
	if l.mounts[folder] == nil && ok {
		l.mounts[folder], _ = mounts.New(l.layout, g) // fails for a bad folder or layout only, which the registry and Prepare refuse
	}
	return l.mounts[folder]
}

// makeDirs makes the directories of the groups that are new or lack some.
func (h *Host) makeDirs(cfg *config.Config, before *live) error {
	var added []groups.Group
	for _, g := range cfg.Groups {
		if before != nil {
			if _, known := before.registry.ByFolder(g.Folder); known {
				continue // its assistant may be running
			}
		}
		if h.Layout.Sound(g.Folder) {
			continue
		}
		giveBack(h.Layout, g.Folder, h.opts.Log)
		added = append(added, g)
	}
	return h.Layout.Prepare(added)
}

// sees returns the mounts that a group is to have, if l has them.
func (l *live) sees(g groups.Group) *mounts.Map {
	if l == nil {
		return nil
	}
	had, ok := l.registry.ByFolder(g.Folder)
	if !ok || had.Main != g.Main || !slices.Equal(had.Mounts, g.Mounts) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mounts[g.Folder]
}

func (l *live) has(folder string, m *mounts.Map) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mounts[folder] == m
}

// closeBut lets go of the directories that other does not hold too. One that
// is being asked for at this moment is opened again, and closed when nobody has it.
func (l *live) closeBut(other *live) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for folder, m := range l.mounts {
		if m != nil && !other.has(folder, m) {
			errs = append(errs, m.Close())
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close mounts: %w", err)
	}
	return nil
}
