package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/engines"
	"github.com/longshore-bridge/longshore/host/live"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
	"github.com/longshore-bridge/longshore/host/runtime/ssh"
	"github.com/longshore-bridge/longshore/host/upkeep"
	"github.com/longshore-bridge/longshore/internal/cause"
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
		Image: a.Image, State: h.Layout.State, Owner: h.owner, Homes: h.Layout.Homes(), Network: a.Network,
		Memory: int64(a.Memory), CPUs: a.CPUs, Pids: int64(a.Pids), Log: h.opts.Log,
	}
	if a.Share == config.ShareNone {
		d.Access = gateway{h}
	}
	if h.Layout.V1 { // v1's image has a home of its own, in which conversations are mounted
		d.Home, d.Homes = "/home/node", ""
	}
	return boxed{h, d, a.Keys == "proxy"}
}

// boxed is a runtime of containers, on the engine that each session names.
type boxed struct {
	h     *Host
	on    docker.Runtime // without an engine
	proxy bool           // the model's keys stay with the host
}

func (b boxed) Start(ctx context.Context, spec runtime.Spec) (runtime.Session, error) {
	return b.h.engines.Start(ctx, spec.Engine, spec.Group.Folder, func(ctx context.Context, engine *docker.Engine) (_ runtime.Session, err error) {
		d := b.on
		d.Engine = engine
		switch {
		case d.Access != nil && !engine.HasSockets():
			return nil, cause.With(cause.Start, docker.ErrFarEngine)
		case b.proxy && engine.Elsewhere():
			d.Model = b.h.models.admit
		case b.proxy:
			if spec.Model, err = b.h.models.socketDir(spec.Group.Folder, engine); err != nil {
				return nil, fmt.Errorf("open the way to the model: %w", err)
			}
		}
		return d.Start(ctx, spec)
	})
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

// enginesPart owns the container engines, to which it connects when the first assistant needs one.
type enginesPart struct{ *engines.Engines }

func (h *Host) openEngines(cfg *config.Config) (Part, error) {
	h.engines = engines.New(cfg, engines.Options{Host: h, Getenv: h.opts.Getenv, Log: h.opts.Log})
	return enginesPart{h.engines}, nil
}

func (p enginesPart) Apply(*live.Live) { p.Look() }

// lookEvery is how often the host looks for what keeps assistants from starting.
const lookEvery = time.Minute

// nextLook returns after which time the host looks again for what keeps assistants down.
func (h *Host) nextLook(ctx context.Context) time.Duration {
	if len(h.down.Findings(ctx)) > 0 || h.engines.Away() {
		return upkeep.LongestPause
	}
	return lookEvery
}

// EngineChanged implements engines.Host.
func (h *Host) EngineChanged(ctx context.Context, name string, engine *docker.Engine) {
	if engine != nil {
		ctx, cancel := context.WithTimeout(ctx, imageTimeout)
		defer cancel()
		for _, missing := range doctor.Images(ctx, engine, h.Config().On(name), name) { // they may be built while the host runs
			h.opts.Log.Warn("assistant cannot be started yet", "error", missing.Cause, "hint", missing.Remedy)
		}
	}
	h.retryTurns()
}

// imageTimeout is how long the engine may take to say which images are missing.
const imageTimeout = 10 * time.Second

// retryTurns has the messages that wait for an operator tried again, since a cause is gone, and ends the
// assistants of groups that are down.
func (h *Host) retryTurns() {
	if h.assistants != nil {
		h.assistants.Reload()
	}
}

// machine returns the runtime of an assistant over ssh.
func (r *runtimes) machine(a config.Assistant) runtime.Runtime {
	program, err := ssh.Program()
	if err != nil {
		return absent{cause.With(cause.NotInstalled, err)}
	}
	s := ssh.Runtime{Target: ssh.Target(a.SSH), Program: program, Home: r.h.owner, Access: gateway{r.h}, Log: r.h.opts.Log}
	if a.Keys == "proxy" {
		s.Model = r.h.models.guarded
	}
	return s
}

// gateway lets assistants that the host starts, and that share no directory with it, in at the remote
// server, which is opened after the runtimes. It implements ssh.Access and docker.Access.
type gateway struct{ host *Host }

func (g gateway) Admit(l net.Listener, folder, thread string) (token string, end func(), err error) {
	if g.host.remote == nil {
		return "", nil, errNoEntrance
	}
	return g.host.remote.Admit(l, folder, thread)
}

var errNoEntrance = errors.New("the first assistant with runtime: ssh or share: none needs a restart of the host")
