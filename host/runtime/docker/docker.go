// Package docker runs each group's assistant in a container of its own, through
// the API of a Docker engine, which Podman offers too. The differences of
// Podman are in podman.go.
//
// A container gets this and nothing else:
//
//	/                 the image, read-only
//	/workspace/...    the rows of the group's mount map, with their modes
//	/tmp              its own, in memory, deleted at its end
//	$HOME             its own; in memory, or kept on the host if Homes is set
//	stdin             the prompt and the group's secrets, once
//	network           as configured
//
// It runs as the user that owns the group's directories, without capabilities,
// without a way to gain privileges, and with limits on memory, processors and
// processes. Its configuration holds no secret, as everybody who may ask the
// engine can read it.
//
// With a Access, it shares no directory: it has the group's volume, in which its home is, and
// read-only the directory of one socket, over which its tools reach the host.
//
// A container is called longshore-<state>-<folder>, so that a group cannot have
// two. Its labels name the installation and the group. A host that was
// killed leaves its containers running; [Engine.Reap] ends them. A new host
// does not adopt them: their outputs since then are lost, and the messages that
// they were given are recorded elsewhere.
//
// The package does not decide when an assistant runs or how many do. It pulls
// no image; [Engine.Build] builds the agent's.
package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/runtime/ssh"
	"github.com/longshore-bridge/longshore/internal/cause"
)

// Home is the containers' home directory unless Runtime.Home names another.
// Dockerfile.agent creates it.
const Home = "/home/agent"

// Runtime starts the assistants' containers. Engine, Image and State are
// required; the zero value of every other field is usable.
type Runtime struct {
	Engine  *Engine
	Image   string
	State   string        // the state directory, absolute
	Owner   string        // the installation that the containers and volumes belong to, on whatever machine its host runs; empty: State
	Home    string        // value of HOME; empty: the constant Home
	Homes   string        // directory on the host that keeps each group's home, absolute; empty: homes are in memory
	Network string        // name for the engine: none, bridge, host, or a network of the operator; empty: bridge
	Memory  int64         // bytes, including the files in /tmp and in a home in memory; 0: 2 GiB
	CPUs    float64       // 0: 2
	Pids    int64         // processes and threads; 0: 512
	Grace   time.Duration // between SIGTERM and SIGKILL; 0: 5 s
	Access  Access        // nil: directories are shared. Otherwise the container shares none, and reaches this by a socket
	Model   ModelAccess   // needed with Access and keys that stay at home, if the engine is Elsewhere; otherwise Spec.Model has the directory
	Away    time.Duration // how long a session waits for an engine that went away; 0: 10 s
	Log     *slog.Logger  // nil: discard

	accessDir string // of a session with Access: the socket's directory on the engine's machine
}

var _ runtime.Runtime = Runtime{}

func (r Runtime) withDefaults() Runtime {
	r.Home, r.Owner = cmp.Or(r.Home, Home), cmp.Or(r.Owner, r.State)
	r.Network = cmp.Or(r.Network, "bridge")
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
	r.Log = cmp.Or(r.Log, slog.New(slog.DiscardHandler))
	return r
}

// Start creates and starts the container. If an earlier host left a container
// of the group, Start removes that first. The error may contain host paths, so
// it is only for the operator.
func (r Runtime) Start(ctx context.Context, spec runtime.Spec) (runtime.Session, error) {
	r = r.withDefaults()
	r.Engine.Sweep(ctx)
	if r.Access == nil {
		if err := r.Engine.Access(spec.Mounts); err != nil {
			return nil, cause.With(cause.Directory, err)
		}
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

// create creates the container, after it has removed one of the same name that
// an earlier host left.
func (r Runtime) create(ctx context.Context, spec runtime.Spec) (string, error) {
	options, err := r.options(spec)
	if err != nil {
		return "", err
	}
	if r.Access != nil {
		if err := r.makeVolume(ctx, options.Config.Labels); err != nil {
			return "", err
		}
	}
	made, err := r.Engine.api.ContainerCreate(ctx, options)
	if nameInUse(err) {
		if err := r.removeLeft(ctx, options); err != nil {
			return "", err
		}
		made, err = r.Engine.api.ContainerCreate(ctx, options)
	}
	if err != nil {
		return "", cannotStart(err)
	}
	for _, warning := range made.Warnings {
		r.Log.Warn("warning of the container engine", "group", spec.Group.Folder, "error", warning)
	}
	if r.Access == nil {
		return made.ID, nil
	}
	return made.ID, r.Engine.makeHome(ctx, made.ID)
}

// removeLeft removes the container that has the name, if it is one of
// Longshore's.
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
	r.Log.Warn("removed the container of an earlier run", "group", options.Config.Labels[labelGroup])
	return r.Engine.remove(ctx, found.Container.ID)
}

// imageMissing tells an engine's "No such image" from its other answers that
// something was not found. Podman says "no such image" or "image not known".
func imageMissing(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "no such image") || strings.Contains(text, "image not known")
}

// programMissing reports whether the image has no such program. The engines pass on
// the words of the program that starts containers: "executable file not found in
// $PATH", or "no such file or directory" after the name.
func programMissing(err error) bool {
	text := err.Error()
	return strings.Contains(text, "executable file") && strings.Contains(text, "not found") ||
		strings.Contains(text, "exec:") && strings.Contains(text, "no such file or directory")
}

// explain adds a remedy and the cause to an engine's error.
func explain(err error) error {
	if fault := (*ssh.Fault)(nil); errors.As(err, &fault) {
		return cause.With(cause.Engine, fmt.Errorf("%w: %w", runtime.ErrAway, ssh.Words(err)))
	}
	if client.IsErrConnectionFailed(err) {
		return fmt.Errorf("%w: %w", runtime.ErrAway, err)
	}
	if errdefs.IsNotFound(err) && !errors.Is(err, context.Canceled) {
		if imageMissing(err) {
			err = cause.With(cause.Image, err)
		}
		return fmt.Errorf("%w (build the image with: longshore image build --agent CLI; networks are listed by: docker network ls)", err)
	}
	if programMissing(err) && cause.Package(err) == "" {
		return cause.With(cause.NotInstalled, err)
	}
	if networkMissing(err) {
		return fmt.Errorf("%w (networks are listed by: podman network ls)", err)
	}
	return err
}
