// Package live holds the configuration in force, and what it means for each part of the host.
//
// A [Live] is made of one file and never changes. A reload puts another Live into [Current], whose
// methods the parts call at each use.
package live

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/screen"
)

// Live is what the host makes of one configuration. It owns the open directories that the operator
// shares with groups; CloseBut closes them.
type Live struct {
	Config   *config.Config
	Applied  time.Time
	Registry *groups.Registry
	Deny     *screen.Screen // files that may not leave
	Ask      *screen.Screen // files that wait for an approval
	Runtimes interface {
		Of(g groups.Group) runtime.Runtime
	}

	layout groups.Layout
	mu     sync.Mutex             // guards mounts
	mounts map[string]*mounts.Map // by folder; a group without shared directories gets its map at the first use
}

// New opens the directories that cfg shares with groups. before is the Live in force, nil at a start:
// unchanged mounts are taken over from it, with the directories that they have open. After an error, New
// has closed what it opened.
func New(cfg *config.Config, before *Live) (_ *Live, err error) {
	l := &Live{Config: cfg, Applied: time.Now(), layout: cfg.Layout(), mounts: map[string]*mounts.Map{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.CloseBut(before))
		}
	}()
	if l.Registry, err = cfg.Registry(); err != nil {
		return nil, err
	}
	if l.Deny, l.Ask, err = cfg.Screens(); err != nil {
		return nil, err
	}
	for _, g := range cfg.Groups {
		if m := before.reusableMounts(g); m != nil {
			l.mounts[g.Folder] = m
			continue
		}
		if !g.Main && len(g.Mounts) == 0 {
			continue // this group sees only what the host makes: Mounts makes its map
		}
		if l.mounts[g.Folder], err = mounts.New(l.layout, g); err != nil {
			return nil, err
		}
		l.mounts[g.Folder].Refresh() // files that are hidden now stay hidden when they are moved
	}
	return l, nil
}

// Mounts returns the directories of the host that a group sees; nil if no such group is configured.
func (l *Live) Mounts(folder string) *mounts.Map {
	l.mu.Lock()
	defer l.mu.Unlock()
	if g, ok := l.Registry.ByFolder(folder); l.mounts[folder] == nil && ok {
		l.mounts[folder], _ = mounts.New(l.layout, g) // a bad folder or layout was refused before
	}
	return l.mounts[folder]
}

// Folders returns the folders of the groups, in the order of the file.
func (l *Live) Folders() []string { return Folders(l.Config) }

// Folders returns the folders of a configuration's groups, in the order of the file.
func Folders(c *config.Config) (all []string) {
	for _, g := range c.Groups {
		all = append(all, g.Folder)
	}
	return all
}

// reusableMounts returns l's mounts of a group; nil if they differ from g's.
func (l *Live) reusableMounts(g groups.Group) *mounts.Map {
	if l == nil {
		return nil
	}
	had, ok := l.Registry.ByFolder(g.Folder)
	if !ok || had.Main != g.Main || !slices.Equal(had.Mounts, g.Mounts) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mounts[g.Folder]
}

func (l *Live) has(folder string, m *mounts.Map) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mounts[folder] == m
}

// CloseBut closes the directories that other, which may be nil, does not share.
func (l *Live) CloseBut(other *Live) error {
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

// Current is the Live in force. The zero value has none.
type Current struct{ live atomic.Pointer[Live] }

// Now returns the Live in force. A caller that needs several settings of the same file calls Now once.
func (c *Current) Now() *Live { return c.live.Load() }

// Set puts l in force.
func (c *Current) Set(l *Live) { c.live.Store(l) }

// Config returns the configuration in force.
func (c *Current) Config() *config.Config { return c.Now().Config }

// Applied returns when the configuration in force was applied.
func (c *Current) Applied() time.Time { return c.Now().Applied }

// Groups returns the groups that are configured now, in the order of the file.
func (c *Current) Groups() []groups.Group { return c.Config().Groups }

// Registry returns the groups that are configured now.
func (c *Current) Registry() *groups.Registry { return c.Now().Registry }

// Mounts returns the directories of the host that a group sees; nil if no such group is configured.
func (c *Current) Mounts(folder string) *mounts.Map { return c.Now().Mounts(folder) }

// Screens returns which files may not leave, and which wait for an approval.
func (c *Current) Screens() (deny, ask *screen.Screen) {
	now := c.Now()
	return now.Deny, now.Ask
}

// Zone returns a group's time zone; the configuration's own if no such group is configured.
func (c *Current) Zone(folder string) *time.Location {
	now := c.Now()
	g, _ := now.Registry.ByFolder(folder)
	return now.Config.Zone(g)
}
