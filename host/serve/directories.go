package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/live"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// directories owns the open directories that groups share with the host.
type directories struct {
	h       *Host
	open    *live.Live
	refused []*config.Problem // what this machine lacked when a recheck was refused; nil: none was
	applied chan struct{}     // wakes Run
	mounts  finding.Background
	first   map[string]safefs.Lasting // of groups' workspaces as first seen, by path; checkMounts alone changes it
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
	p := &directories{h: h, open: first, applied: make(chan struct{}, 1)}
	p.mounts.Source = finding.Func(p.checkMounts)
	if !h.opts.Idle {
		p.first = p.workspaces()
		if h.engines.LookHere(ctx); len(h.engines.Answering(cfg.EngineNames())) > 0 { // they say what their containers may use
			h.checkGroups(cfg, h.Registry())
		}
		h.noteServed(false)
	}
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
		// A workspace that is away is not made anew: its operator puts it back.
		if why, down := h.down.Of(f.Part); known != nil && (!down || why.Part == workspacePart(g.Folder)) {
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

// workspacePart is the part of a group that its workspace is.
func workspacePart(folder string) string { return "group " + folder + ", " + workspace }

// workspace is where a container has its group's workspace.
const workspace = mounts.Workspace + "/group"

// workspaces returns the groups' workspaces as they were first seen.
func (d *directories) workspaces() map[string]safefs.Lasting {
	first := map[string]safefs.Lasting{}
	for _, g := range d.h.Config().Groups {
		dir := d.h.Layout.Workspace(g.Folder)
		if first[dir] = d.first[dir]; first[dir] == (safefs.Lasting{}) {
			first[dir], _ = lookAt(dir)
		}
	}
	return first
}

// lookAt returns which directory has that path. gone: none has; of other trouble, the doctor knows.
func lookAt(dir string) (id safefs.Lasting, gone bool) {
	id, err := safefs.LastingDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		_, above := os.Lstat(filepath.Dir(dir))
		return id, above == nil
	}
	return id, false
}

// gone returns, by mount, why directories shared with a group cannot be used.
func (d *directories) gone(now *live.Live, g groups.Group) map[mounts.Mount]error {
	all := map[mounts.Mount]error{}
	if g.Main || len(g.Mounts) > 0 {
		all = now.Mounts(g.Folder).Gone()
	}
	own := mounts.Mount{Container: workspace, Host: d.h.Layout.Workspace(g.Folder)}
	first, none := d.first[own.Host], safefs.Lasting{}
	if first == none || now.Config.Alone(g) {
		return all
	}
	if id, gone := lookAt(own.Host); gone || id != none && id != first {
		all[own] = fs.ErrNotExist
	}
	return all
}

// checkMounts finds the directories shared with groups that are not in their place or not readable. Such a group is down:
// its assistant would answer without what is in them. It returns nothing.
func (d *directories) checkMounts(context.Context) []finding.Finding {
	var gone []finding.Finding
	h, now := d.h, d.h.Now()
	d.first = d.workspaces()
	for _, g := range now.Config.Groups {
		for m, err := range d.gone(now, g) {
			how := "cannot be read: " + safefs.Reason(err).Error()
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
				how = "is gone or another one"
			}
			gone = append(gone, finding.Finding{
				Name: string(cause.Mount), Part: "group " + g.Folder + ", " + m.Container,
				Cause:  fmt.Sprintf("the directory %s, which group %s has as %s, %s", m.Host, g.Folder, m.Container, how),
				Remedy: cmp.Or(finding.Remedy(err, m.Host), "put it back, or mount it again; if another directory is meant to be there, restart the host"),
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
