package serve

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/live"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// directories owns the open directories that groups share with the host.
type directories struct {
	h       *Host
	open    *live.Live
	refused []*config.Problem // what this machine lacked when a recheck was refused; nil: none was
	applied chan struct{}     // wakes Run
	mounts  finding.Background
}

// Findings implements finding.Source: the groups are down whose shared directories are gone.
func (d *directories) Findings(ctx context.Context) []finding.Finding { return d.mounts.Findings(ctx) }

// Run looks every minute, or more often while something is down, for directories that groups lack or
// may use again, and for what this machine lacked of the configuration.
func (d *directories) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-d.applied: // what is down now is looked at sooner
			continue
		case <-time.After(d.h.nextLook(ctx)):
		}
		d.lookAtGroups()
		d.mounts.Findings(ctx)
		if err := d.recheck(ctx); err != nil {
			d.h.opts.Log.Warn("the configuration was not looked at again", "error", err)
		}
	}
}

// lookAtGroups looks at the groups in force. It holds up reloads: else it could call a group up that a
// reload has just found down.
func (d *directories) lookAtGroups() {
	d.h.reloading.Lock()
	defer d.h.reloading.Unlock()
	d.h.checkGroups(d.h.Config(), d.h.Registry())
}

// openDirectories puts the first configuration in force, and makes what the groups lack.
func (h *Host) openDirectories(ctx context.Context, cfg *config.Config) (_ Part, err error) {
	if cfg, err = h.withRegistered(ctx, cfg); err != nil {
		return nil, err
	}
	h.checkGroups(cfg, nil)
	if h.Channels == nil {
		h.Channels = h.configuredChannels(cfg)
	}
	first, err := h.prepare(cfg, nil)
	if err != nil {
		return nil, err
	}
	h.Set(first)
	if !h.opts.Idle {
		if h.engines.LookHere(ctx); len(h.engines.Answering(cfg.EngineNames())) > 0 { // they say what their containers may use
			h.checkGroups(cfg, h.Registry())
		}
		h.noteServed(false)
	}
	p := &directories{h: h, open: first, applied: make(chan struct{}, 1), mounts: finding.Background{Source: finding.Func(h.checkMounts)}}
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
	d.mounts.Findings(context.Background())
	wake.Up(d.applied)
}

func (d *directories) Close() error { return d.open.CloseBut(nil) }

// checkGroups makes the missing directories of groups, but those of known groups that are up: their
// assistants may be running. A group is down whose directories cannot be made, or not be used by its
// container.
func (h *Host) checkGroups(cfg *config.Config, known *groups.Registry) {
	var wrong []finding.Finding
	for _, g := range cfg.Groups {
		up := false
		f := finding.Finding{Name: string(cause.Directory), Part: "group " + g.Folder, Remedy: "do what the message says; the host tries again by itself"}
		_, down := h.down.Of(f.Part)
		if known != nil && !down {
			_, up = known.ByFolder(g.Folder)
		}
		var err error
		if !up && !h.Layout.Sound(g.Folder) {
			giveBack(h.Layout, g.Folder, h.opts.Log)
			if err = h.Layout.PrepareGroup(g.Folder); err != nil { // in the words of the doctor, who knows why
				why := doctor.Doctor{Layout: h.Layout, Running: true}.Unusable(g)
				f.Cause, f.Remedy = cmp.Or(why.Cause, err.Error()), cmp.Or(why.Remedy, f.Remedy)
			}
		}
		if err == nil && !cfg.Alone(g) {
			err = h.useDirectories(g, h.engines.Answering(cfg.EnginesOf(g)))
		}
		if err != nil {
			f.Cause = cmp.Or(f.Cause, err.Error())
			wrong = append(wrong, f)
		}
	}
	if h.down.Replace(string(cause.Directory), wrong) {
		h.retryTurns()
	}
}

// checkMounts finds the directories shared with groups that are not in their place. Such a group is down:
// its assistant would answer without what is in them. It returns nothing.
func (h *Host) checkMounts(context.Context) []finding.Finding {
	var gone []finding.Finding
	now := h.Now()
	for _, g := range now.Config.Groups {
		if !g.Main && len(g.Mounts) == 0 {
			continue
		}
		for _, m := range now.Mounts(g.Folder).Gone() {
			gone = append(gone, finding.Finding{
				Name: string(cause.Mount), Part: "group " + g.Folder + ", " + m.Container,
				Cause:  fmt.Sprintf("the directory %s, which group %s has as %s, is gone or another one", m.Host, g.Folder, m.Container),
				Remedy: "put it back, or mount it again; if another directory is meant to be there, restart the host",
			})
		}
	}
	if h.down.Replace(string(cause.Mount), gone) {
		h.retryTurns()
	}
	return nil
}

// useDirectories checks that a group's container can use the directories that it shares with the host,
// on each of the engines.
func (h *Host) useDirectories(g groups.Group, on []*docker.Engine) error {
	for _, engine := range on {
		table, err := mounts.Table(h.Layout, g)
		if err == nil {
			err = engine.Access(doctor.WithHome(h.Layout, g.Folder, table))
		}
		if err != nil {
			return err
		}
	}
	return nil
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
