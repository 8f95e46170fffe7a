package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
)

// runtimes starts each group's assistant in the runtime that its configuration
// names.
type runtimes struct {
	process runtime.Process
	docker  map[string]docker.Runtime // by the assistant's name
	engine  *docker.Engine            // nil: no assistant runs in a container
	layout  groups.Layout
	log     *slog.Logger
}

// openRuntimes finds the container engine if an assistant needs one.
func (h *Host) openRuntimes(ctx context.Context) error {
	h.runtimes = &runtimes{process: runtime.Process{Log: h.opts.Log}, docker: map[string]docker.Runtime{}, layout: h.Layout, log: h.opts.Log}
	if h.opts.Idle {
		return nil
	}
	for _, g := range h.Config.InContainers() {
		a := h.Config.Assistants[g.Assistant]
		if h.runtimes.engine == nil {
			engine, err := docker.Connect(ctx, h.opts.Getenv)
			if err != nil {
				return fmt.Errorf("assistant %s: %w", g.Assistant, err)
			}
			h.runtimes.engine = engine
		}
		r := docker.Runtime{
			Engine: h.runtimes.engine, Image: a.Image, State: h.Layout.State, Homes: h.Layout.Homes(), Network: a.Network,
			Memory: int64(a.Memory), CPUs: a.CPUs, Pids: int64(a.Pids), Log: h.opts.Log,
		}
		if h.Layout.V1 { // whose image has a home of its own, with conversations mounted in it
			r.Home, r.Homes = "/home/node", ""
		}
		h.runtimes.docker[g.Assistant] = r
	}
	return h.checkEngine(ctx)
}

// imagePatience is how long a start waits for what the engine says of images.
const imagePatience = 10 * time.Second

// checkEngine tells what the engine is and cannot do, before a member's message
// meets it.
func (h *Host) checkEngine(ctx context.Context) error {
	engine := h.runtimes.engine
	if engine == nil {
		return nil
	}
	facts := engine.Facts()
	h.opts.Log.Info("container engine", "engine", facts.Name, "at", facts.Host, "rootless", facts.Rootless)
	if len(facts.Lacks) > 0 {
		h.opts.Log.Warn("container engine cannot limit everything", "limits", facts.Lacks)
	}
	// No reason not to start: the image may be built while the host runs.
	ctx, cancel := context.WithTimeout(ctx, imagePatience)
	defer cancel()
	for _, missing := range doctor.Images(ctx, engine, h.Config) {
		h.opts.Log.Warn("assistant cannot be started yet", "error", missing.Message, "hint", missing.Remedy)
	}
	return h.checkMounts()
}

// checkMounts tells what will keep a group's container from its directories. It
// is an error where no container could run. Where some can, those do: what is
// wrong with one group's directories ends no other's.
func (h *Host) checkMounts() error {
	var wrong []error
	usable := false
	for _, g := range h.Registry.All() {
		if _, ok := h.runtimes.docker[g.Assistant]; !ok {
			continue
		}
		if err := h.runtimes.engine.Access(doctor.WithHome(h.Layout, g.Folder, h.mounts[g.Folder].Mounts())); err != nil {
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

// giveBack lets a group's assistant use its own directories again, where it
// took its rights on them away. What that does not mend the start will meet.
func giveBack(layout groups.Layout, folder string, log *slog.Logger) {
	given, err := layout.GiveBack(folder)
	for _, dir := range given {
		log.Warn("an assistant had no rights on its own directory any more; its owner has them again", "group", folder, "directory", dir)
	}
	if err != nil {
		log.Warn("an assistant may have no rights on its own directories", "group", folder, "error", err)
	}
}

// Start implements runtime.Runtime.
func (r *runtimes) Start(ctx context.Context, spec runtime.Spec) (runtime.Session, error) {
	giveBack(r.layout, spec.Group.Folder, r.log)
	if d, ok := r.docker[spec.Group.Assistant]; ok {
		return d.Start(ctx, spec)
	}
	return r.process.Start(ctx, spec)
}

// reap ends the containers that a host left which was killed.
func (h *Host) reap(ctx context.Context) {
	if h.runtimes.engine == nil {
		return
	}
	left, err := h.runtimes.engine.Reap(ctx, h.Layout.State)
	for _, folder := range left {
		h.opts.Log.Warn("container of an earlier host ended", "group", folder)
	}
	if err != nil { // the group's next start tries again
		h.opts.Log.Error("containers of an earlier host", "error", err)
	}
}

// sweepEvery is how often containers are looked after that an engine which
// went away could not remove. A start does, too.
const sweepEvery = time.Minute

func (h *Host) sweep(ctx context.Context) error {
	if h.runtimes.engine == nil {
		return nil
	}
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			h.runtimes.engine.Sweep(ctx)
		}
	}
}

func (r *runtimes) Close() error {
	if r == nil || r.engine == nil {
		return nil
	}
	return r.engine.Close()
}
