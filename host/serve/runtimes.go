package serve

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/live"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
	"github.com/longshore-bridge/longshore/host/upkeep"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// runtimes are what the groups' assistants run in, under one configuration.
type runtimes struct {
	h      *Host
	config *config.Config
}

// Of returns what a group's assistant runs in. One that cannot be started now has a runtime that says
// why.
func (r *runtimes) Of(g groups.Group) runtime.Runtime {
	switch a := r.config.Assistants[g.Assistant]; a.Runtime {
	case config.OverSSH:
		return r.machine(a)
	case "docker":
		return mended{r.container(a), r.h.Layout, r.h.opts.Log}
	}
	return mended{runtime.Process{Version: r.h.opts.Version, Log: r.h.opts.Log}, r.h.Layout, r.h.opts.Log}
}

// container returns the runtime of an assistant with runtime: docker.
func (r *runtimes) container(a config.Assistant) runtime.Runtime {
	h := r.h
	d := docker.Runtime{
		Engine: h.engine.Load(), Image: a.Image, State: h.Layout.State, Homes: h.Layout.Homes(), Network: a.Network,
		Memory: int64(a.Memory), CPUs: a.CPUs, Pids: int64(a.Pids), Log: h.opts.Log,
	}
	if d.Engine == nil { // enginePart tries to reach it
		return absent{runtime.ErrAway}
	}
	if a.Share == config.ShareNone {
		d.Access = gateway{h}
		if !d.Engine.HasSockets() {
			return absent{cause.With(cause.Start, docker.ErrFarEngine)}
		}
	}
	if h.Layout.V1 { // v1's image has a home of its own, in which conversations are mounted
		d.Home, d.Homes = "/home/node", ""
	}
	switch {
	case a.Keys != "proxy":
	case d.Engine.Elsewhere():
		d.Model = h.models.admit
	default:
		return withModel{d, &h.models}
	}
	return d
}

// absent is a runtime that cannot start an assistant now.
type absent struct{ error }

func (a absent) Start(context.Context, runtime.Spec) (runtime.Session, error) { return nil, a.error }

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

// enginePart owns the container engine. It connects to the engine when the first assistant needs
// one, and again and again while the engine is away.
type enginePart struct {
	h    *Host
	look chan struct{} // wakes Run
}

func (h *Host) openEngine(context.Context) (Part, error) {
	return enginePart{h, make(chan struct{}, 1)}, nil
}

func (p enginePart) Apply(*live.Live) { wake.Up(p.look) }

// lookEvery is how often the host looks for what keeps assistants from starting, and removes the
// containers that the engine could not remove while it was away.
const lookEvery = time.Minute

// nextLook returns after which time the host looks again for what keeps assistants down.
func (h *Host) nextLook(ctx context.Context) time.Duration {
	if len(h.down.Findings(ctx)) > 0 || h.engine.Load() == nil && len(h.Config().InContainers()) > 0 {
		return upkeep.LongestPause
	}
	return lookEvery
}

// Run looks after the engine until ctx is done.
func (p enginePart) Run(ctx context.Context) error {
	for {
		p.h.reachEngine(ctx)
		if engine := p.h.engine.Load(); engine != nil {
			engine.Sweep(ctx)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.look:
		case <-time.After(p.h.nextLook(ctx)):
		}
	}
}

func (p enginePart) Close() error {
	if engine := p.h.engine.Load(); engine != nil {
		return engine.Close()
	}
	return nil
}

// reachEngine connects to the container engine if an assistant needs one, and ends there the
// containers of an earlier host that was killed.
func (h *Host) reachEngine(ctx context.Context) {
	if h.opts.Idle || h.engine.Load() != nil || len(h.Config().InContainers()) == 0 {
		return
	}
	engine, err := doctor.Connect(ctx, h.Config(), h.opts.Getenv)
	if err != nil {
		if words := err.Error(); words != h.engineErr {
			h.engineErr = words
			h.opts.Log.Error("assistants in containers are down until their engine answers", "error", err)
		}
		return
	}
	facts := engine.Facts()
	h.opts.Log.Info("container engine", "engine", facts.Name, "at", facts.Host, "rootless", facts.Rootless)
	if len(facts.Lacks) > 0 {
		h.opts.Log.Warn("container engine cannot limit everything", "limits", facts.Lacks)
	}
	left, err := engine.Reap(ctx, h.Layout.State)
	for _, folder := range left {
		h.opts.Log.Warn("container of an earlier host ended", "group", folder)
	}
	if err != nil { // the next start of the group tries again
		h.opts.Log.Error("containers of an earlier host", "error", err)
	}
	h.engine.Store(engine)
	ctx, cancel := context.WithTimeout(ctx, imageTimeout)
	defer cancel()
	for _, missing := range doctor.Images(ctx, engine, h.Config()) { // they may be built while the host runs
		h.opts.Log.Warn("assistant cannot be started yet", "error", missing.Cause, "hint", missing.Remedy)
	}
	h.retryTurns()
}

// imageTimeout is how long the engine may take to say which images are missing.
const imageTimeout = 10 * time.Second

// retryTurns has the messages that wait for an operator tried again, since a cause is gone.
func (h *Host) retryTurns() {
	if h.assistants != nil {
		h.assistants.Reload()
	}
}
