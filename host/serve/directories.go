package serve

import (
	"context"
	"fmt"
	"slices"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/live"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// directories owns the open directories that groups share with the host.
type directories struct {
	h    *Host
	open *live.Live
}

// Run reads the configuration again from time to time while this machine lacks something of it, and
// applies it once that is there. A file that was changed since waits for a reload.
func (d *directories) Run(ctx context.Context) error {
	for range wake.Every(ctx, longestPause) {
		now := d.h.Config()
		if len(now.Down)+len(now.Denied) == 0 || d.h.opts.File == nil {
			continue
		}
		registered, err := d.h.registered(ctx)
		if err != nil {
			continue
		}
		next, problems, err := d.h.opts.File.Load(registered)
		if err == nil && len(problems) == 0 && next.Sum == now.Sum && !slices.Equal(next.Lacks(), now.Lacks()) {
			_, _ = d.h.Reload(ctx, false) // it logs what keeps it from it
		}
	}
	return nil
}

// openDirectories puts the first configuration in force, and makes what the groups lack.
func (h *Host) openDirectories(ctx context.Context, cfg *config.Config) (_ Part, err error) {
	if cfg, err = h.withRegistered(ctx, cfg); err != nil {
		return nil, err
	}
	if err := h.makeDirs(cfg, nil); err != nil {
		return nil, err
	}
	if h.Channels == nil {
		h.Channels = h.configuredChannels(cfg)
	}
	first, err := h.prepare(cfg, nil)
	if err != nil {
		return nil, err
	}
	h.Set(first)
	h.reachEngine(ctx)
	if !h.opts.Idle {
		h.noteServed(false)
	}
	p := &directories{h: h, open: first}
	if problems := Unsupported(cfg, h.Channels); len(problems) > 0 {
		return p, fmt.Errorf("%s: %s", problems[0].Key, problems[0].Message)
	}
	h.tellDown(cfg)
	cfg.Forget()
	return p, nil
}

// Apply closes the directories that only the former configuration shares.
func (d *directories) Apply(now *live.Live) {
	if err := d.open.CloseBut(now); err != nil {
		d.h.opts.Log.Error("directories of the former configuration not closed", "error", err)
	}
	d.open = now
}

func (d *directories) Close() error { return d.open.CloseBut(nil) }

// makeDirs makes the missing directories of groups. before is the Live in force, nil at a start: its
// groups are left alone.
func (h *Host) makeDirs(cfg *config.Config, before *live.Live) error {
	var added []groups.Group
	for _, g := range cfg.Groups {
		if before != nil {
			if _, known := before.Registry.ByFolder(g.Folder); known {
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

// prepare makes a Live of cfg. before is the Live in force, nil at a start.
func (h *Host) prepare(cfg *config.Config, before *live.Live) (*live.Live, error) {
	l, err := live.New(cfg, before)
	if err != nil {
		return nil, err
	}
	l.Runtimes = &runtimes{h, cfg}
	return l, nil
}
