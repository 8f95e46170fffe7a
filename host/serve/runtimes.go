package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/live"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
	"github.com/longshore-bridge/longshore/host/runtime/ssh"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// runtimes are what the groups' assistants run in, under one configuration.
type runtimes struct {
	process runtime.Process
	docker  map[string]docker.Runtime // by the assistant's name
	ssh     map[string]ssh.Runtime    // by the assistant's name
	models  map[string]*models        // by the assistant's name, if the host keeps its keys
	layout  groups.Layout
	log     *slog.Logger
}

// Of returns what a group's assistant runs in.
func (r *runtimes) Of(g groups.Group) runtime.Runtime {
	if s, ok := r.ssh[g.Assistant]; ok {
		return s
	}
	if d, ok := r.docker[g.Assistant]; ok {
		if m := r.models[g.Assistant]; m != nil {
			return mended{withModel{d, m}, r.layout, r.log}
		}
		return mended{d, r.layout, r.log}
	}
	return mended{r.process, r.layout, r.log}
}

// openRuntimes makes the runtimes of l, and connects to the container engine if an assistant is the
// first that needs one.
func (h *Host) openRuntimes(ctx context.Context, l *live.Live) (*runtimes, error) {
	all := &runtimes{process: runtime.Process{Version: h.opts.Version, Log: h.opts.Log}, docker: map[string]docker.Runtime{}, ssh: map[string]ssh.Runtime{}, models: map[string]*models{}, layout: h.Layout, log: h.opts.Log}
	if h.opts.Idle {
		return all, nil
	}
	if err := h.openSSH(l.Config, all); err != nil {
		return nil, err
	}
	for _, g := range l.Config.InContainers() {
		a := l.Config.Assistants[g.Assistant]
		if h.engine.Load() == nil {
			engine, err := doctor.Connect(ctx, l.Config, h.opts.Getenv)
			if err != nil {
				return nil, fmt.Errorf("assistant %s: %w", g.Assistant, err)
			}
			h.engine.Store(engine)
			h.tellEngine(engine)
		}
		r := docker.Runtime{
			Engine: h.engine.Load(), Image: a.Image, State: h.Layout.State, Homes: h.Layout.Homes(), Network: a.Network,
			Memory: int64(a.Memory), CPUs: a.CPUs, Pids: int64(a.Pids), Log: h.opts.Log,
		}
		if a.Share == config.ShareNone {
			r.Access = gateway{h}
			if !r.Engine.HasSockets() {
				return nil, fmt.Errorf("assistant %s: %w", g.Assistant, docker.ErrFarEngine)
			}
		}
		if h.Layout.V1 { // v1's image has a home of its own, in which conversations are mounted
			r.Home, r.Homes = "/home/node", ""
		}
		switch {
		case a.Keys != "proxy":
		case r.Engine.Elsewhere():
			r.Model = h.models.admit
		default:
			all.models[g.Assistant] = &h.models
		}
		all.docker[g.Assistant] = r
	}
	return all, h.checkEngine(ctx, l, all)
}

// tellEngine logs the engine and which limits it lacks.
func (h *Host) tellEngine(engine *docker.Engine) {
	facts := engine.Facts()
	h.opts.Log.Info("container engine", "engine", facts.Name, "at", facts.Host, "rootless", facts.Rootless)
	if len(facts.Lacks) > 0 {
		h.opts.Log.Warn("container engine cannot limit everything", "limits", facts.Lacks)
	}
}

// imageTimeout is how long a start or a reload waits for the engine's list of images.
const imageTimeout = 10 * time.Second

// checkEngine logs which images are missing, and checks the mounts.
func (h *Host) checkEngine(ctx context.Context, l *live.Live, all *runtimes) error {
	engine := h.engine.Load()
	if engine == nil || len(all.docker) == 0 {
		return nil
	}
	// A missing image is no error: it may be built while the host runs.
	ctx, cancel := context.WithTimeout(ctx, imageTimeout)
	defer cancel()
	for _, missing := range doctor.Images(ctx, engine, l.Config) {
		h.opts.Log.Warn("assistant cannot be started yet", "error", missing.Cause, "hint", missing.Remedy)
	}
	return h.checkMounts(l, all)
}

// checkMounts checks that containers can use their groups' directories. It returns an error if no
// container can run; otherwise it logs what is wrong, and the other groups are served.
func (h *Host) checkMounts(l *live.Live, all *runtimes) error {
	var wrong []error
	usable := false
	for _, g := range l.Registry.All() {
		if _, ok := all.docker[g.Assistant]; !ok {
			continue
		}
		if l.Config.Alone(g) {
			usable = true
			continue
		}
		table, err := mounts.Table(h.Layout, g)
		if err == nil {
			err = h.engine.Load().Access(doctor.WithHome(h.Layout, g.Folder, table))
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("group %s: %w", g.Folder, err))
			continue
		}
		usable = true
	}
	if !usable {
		return errors.Join(wrong...)
	}
	for _, err := range wrong {
		h.opts.Log.Error("assistant cannot be started", "error", err)
	}
	return nil
}

// elsewhereRuntime is the runtime of an assistant that fetches its messages: it starts nothing.
type elsewhereRuntime struct{}

func (elsewhereRuntime) Start(context.Context, runtime.Spec) (runtime.Session, error) {
	return nil, errors.New("this assistant lives elsewhere and fetches its messages")
}

// giveBack restores the rights on a group's directories that an assistant took away from itself. If
// that fails, the assistant's start will.
func giveBack(layout groups.Layout, folder string, log *slog.Logger) {
	given, err := layout.GiveBack(folder)
	for _, dir := range given {
		log.Warn("an assistant had no rights on its own directory any more; its owner has them again", "group", folder, "directory", dir)
	}
	if err != nil {
		log.Warn("an assistant may have no rights on its own directories", "group", folder, "error", err)
	}
}

// mended is a runtime that calls giveBack before each start.
type mended struct {
	runtime.Runtime
	layout groups.Layout
	log    *slog.Logger
}

func (m mended) Start(ctx context.Context, spec runtime.Spec) (runtime.Session, error) {
	giveBack(m.layout, spec.Group.Folder, m.log)
	return m.Runtime.Start(ctx, spec)
}

// reap removes the containers of an earlier host that was killed.
func (h *Host) reap(ctx context.Context) {
	engine := h.engine.Load()
	if engine == nil {
		return
	}
	left, err := engine.Reap(ctx, h.Layout.State)
	for _, folder := range left {
		h.opts.Log.Warn("container of an earlier host ended", "group", folder)
	}
	if err != nil { // the next start of the group tries again
		h.opts.Log.Error("containers of an earlier host", "error", err)
	}
}

// sweepEvery is how often the host tries to remove containers that the engine could not remove while
// it was away.
const sweepEvery = time.Minute

// enginePart owns the container engine, which openRuntimes connects to.
type enginePart struct {
	noApply
	h *Host
}

func (h *Host) openEngine(context.Context) (Part, error) { return enginePart{h: h}, nil }

// Run sweeps until ctx is done. It looks for the engine each time: a reload may bring the first
// container.
func (p enginePart) Run(ctx context.Context) error {
	for range wake.Every(ctx, sweepEvery) {
		if engine := p.h.engine.Load(); engine != nil {
			engine.Sweep(ctx)
		}
	}
	return nil
}

func (p enginePart) Close() error {
	if engine := p.h.engine.Load(); engine != nil {
		return engine.Close()
	}
	return nil
}
