// Package docker runs each group's assistant in a container of its own, by the
// API of a Docker engine, which Podman offers too. Where Podman does otherwise
// is in podman.go.
//
// What a container gets, and nothing else:
//
//	/                 the image, read-only
//	/workspace/...    the rows of the group's mount map, with their modes
//	/tmp              its own, in memory, gone when it ends
//	$HOME             its own, in memory too or kept on the host, as the runtime says
//	stdin             the prompt and the group's secrets, once
//	network           as configured
//
// It runs as the user that owns the group's directories, without capabilities,
// without a way to gain rights, and within limits of memory, processors and
// processes. No secret is in its configuration, where everybody who may ask
// the engine could read it.
//
// A container is called longshore-<state>-<folder>, so that a group cannot
// have two, and its labels say which state directory and group it belongs to.
// A host that was killed leaves its containers running; [Engine.Reap] ends
// them. None is taken over: what it said meanwhile cannot be heard any more,
// and the messages that it held are kept elsewhere.
//
// The package decides neither when an assistant runs nor how many do. It pulls
// no image; [Engine.Build] builds the agent's own.
package docker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/longshore-bridge/longshore/host/runtime"
)

// Home is the home directory that containers have unless the runtime names
// another. It is where Dockerfile.agent makes one.
const Home = "/home/agent"

// Runtime starts one assistant's containers. Engine, Image and State are
// needed; the zero value of everything else is usable.
type Runtime struct {
	Engine  *Engine
	Image   string
	State   string        // the state directory, absolute: whose containers these are
	Home    string        // what HOME names; empty: the constant Home
	Homes   string        // where each group's home is kept, on the host, absolute; empty: it is in memory
	Network string        // as the engine calls it: none, bridge, host, or one the operator made; empty: bridge
	Memory  int64         // bytes, what lies in /tmp and the home directory included; 0: 2 GiB
	CPUs    float64       // 0: 2
	Pids    int64         // processes and threads; 0: 512
	Grace   time.Duration // between SIGTERM and SIGKILL; 0: 5 s
	Away    time.Duration // for which an engine that went away under a container is waited for; 0: 10 s
	Log     *slog.Logger  // nil: discard
}

var _ runtime.Runtime = Runtime{}

func (r Runtime) withDefaults() Runtime {
	if r.Home == "" {
		r.Home = Home
	}
	if r.Network == "" {
		r.Network = "bridge"
	}
	if r.Memory <= 0 {
		r.Memory = 2 << 30
	}
	if r.CPUs <= 0 {
		r.CPUs = 2
	}
	if r.Pids <= 0 {
		r.Pids = 512
	}
	if r.Grace <= 0 {
		r.Grace = 5 * time.Second
	}
	if r.Away <= 0 {
		r.Away = 10 * time.Second
	}
	if r.Log == nil {
		r.Log = slog.New(slog.DiscardHandler)
	}
	return r
}

// Start makes the container and starts it. One that an earlier host left for
// the group is removed first. The error may hold host paths: it is the
// operator's.
func (r Runtime) Start(ctx context.Context, spec runtime.Spec) (runtime.Session, error) {
	r = r.withDefaults()
	r.Engine.Sweep(ctx)
	if err := r.Engine.Access(spec.Mounts); err != nil {
		return nil, err
	}
	s, err := r.newSession(spec)
	if err != nil {
		return nil, err
	}
	release := context.AfterFunc(ctx, s.abandon)
	err = s.start(ctx, r, spec)
	if !release() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		s.discard()
		return nil, fmt.Errorf("start container from %s: %w", r.Image, explain(err))
	}
	go s.run(spec.Input)
	return s, nil
}

// create makes the container, after it removed the one of that name that an
// earlier host left.
func (r Runtime) create(ctx context.Context, spec runtime.Spec) (string, error) {
	options, err := r.options(spec)
	if err != nil {
		return "", err
	}
	made, err := r.Engine.api.ContainerCreate(ctx, options)
	if nameInUse(err) {
		if err := r.removeLeft(ctx, options); err != nil {
			return "", err
		}
		made, err = r.Engine.api.ContainerCreate(ctx, options)
	}
	if err != nil {
		return "", err
	}
	for _, warning := range made.Warnings {
		r.Log.Warn("container engine warns", "group", spec.Group.Folder, "error", warning)
	}
	return made.ID, nil
}

// removeLeft removes the container that has the name, if it is one of ours.
func (r Runtime) removeLeft(ctx context.Context, options client.ContainerCreateOptions) error {
	found, err := r.Engine.api.ContainerInspect(ctx, options.Name, client.ContainerInspectOptions{})
	if errdefs.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if found.Container.Config == nil || found.Container.Config.Labels[labelState] != options.Config.Labels[labelState] {
		return fmt.Errorf("another container is called %s; remove or rename it", options.Name)
	}
	r.Log.Warn("container of an earlier run removed", "group", options.Config.Labels[labelGroup])
	return r.Engine.remove(ctx, found.Container.ID)
}

// explain adds the remedy to what engines say in their own words.
func explain(err error) error {
	if client.IsErrConnectionFailed(err) {
		return fmt.Errorf("%w: %w", runtime.ErrAway, err)
	}
	if errdefs.IsNotFound(err) && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w (build the image with: longshore image build --agent CLI; networks are listed by: docker network ls)", err)
	}
	if networkMissing(err) {
		return fmt.Errorf("%w (networks are listed by: podman network ls)", err)
	}
	return err
}
