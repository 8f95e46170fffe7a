package serve

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc"
)

// live is what the host makes of one configuration. It never changes: a reload
// puts another one in its place. So whoever asks once works with one file.
type live struct {
	config   *config.Config
	applied  time.Time
	registry *groups.Registry
	mounts   map[string]*mounts.Map // by folder
	runtimes runtimes
	limits   outbox.Limits
}

// now is the configuration that is in force.
func (h *Host) now() *live { return h.live.Load() }

// Config is the configuration that is in force.
func (h *Host) Config() *config.Config { return h.now().config }

// Registry is the groups that are configured now.
func (h *Host) Registry() *groups.Registry         { return h.now().registry }
func (h *Host) mountsOf(folder string) *mounts.Map { return h.now().mounts[folder] }
func (h *Host) limits() outbox.Limits              { return h.now().limits }
func (h *Host) wait() time.Duration                { return h.Config().Limits.Wait.Std() }

// keep is for how long the queue keeps results and what was refused.
func (h *Host) keep() ipc.Keep {
	l := h.Config().Limits
	return ipc.Keep{Results: l.KeepResults.Std(), Errors: l.KeepErrors.Std()}
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
	l := &live{config: cfg, applied: time.Now(), mounts: map[string]*mounts.Map{}, limits: limitsOf(cfg)}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.closeBut(before))
		}
	}()
	if l.registry, err = groups.NewRegistry(cfg.Groups); err != nil {
		return nil, err
	}
	for _, g := range cfg.Groups {
		if before.sees(g) {
			l.mounts[g.Folder] = before.mounts[g.Folder]
			continue
		}
		if l.mounts[g.Folder], err = mounts.New(h.Layout, g); err != nil {
			return nil, err
		}
		l.mounts[g.Folder].Refresh() // what is hidden now stays hidden wherever it is moved
	}
	return l, h.openRuntimes(ctx, l)
}

// makeDirs makes the directories of the groups that are new.
func (h *Host) makeDirs(cfg *config.Config, before *live) error {
	var added []groups.Group
	for _, g := range cfg.Groups {
		if before != nil {
			if _, known := before.registry.ByFolder(g.Folder); known {
				continue // its assistant may be running
			}
		}
		giveBack(h.Layout, g.Folder, h.opts.Log)
		added = append(added, g)
	}
	return h.Layout.Prepare(added)
}

// sees says whether l has the mounts that a group is to have.
func (l *live) sees(g groups.Group) bool {
	if l == nil {
		return false
	}
	had, ok := l.registry.ByFolder(g.Folder)
	return ok && had.Main == g.Main && reflect.DeepEqual(had.Mounts, g.Mounts)
}

// closeBut lets go of the directories that other does not hold too. One that
// is being asked for at this moment is opened again, and closed when nobody has it.
func (l *live) closeBut(other *live) error {
	var errs []error
	for folder, m := range l.mounts {
		if m != nil && (other == nil || other.mounts[folder] != m) {
			errs = append(errs, m.Close())
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close mounts: %w", err)
	}
	return nil
}
