package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/client"
)

// pingTime bounds how long an engine may take to answer that it is there.
const pingTime = 10 * time.Second

// Engine is a connection to a container engine. Its methods may be called
// from several goroutines.
type Engine struct {
	api    *client.Client
	host   string
	facts  Facts
	userns bool // containers' users are other users on the host

	sockets []string // of every engine that this machine may have, this one's too

	mu   sync.Mutex
	left []string // containers that could not be removed
}

// Facts is what matters of an engine.
type Facts struct {
	Host     string   // where it listens
	Name     string   // as it calls itself: its version and system
	Podman   bool     // it is Podman, which does some of the API otherwise
	Rootless bool     // it runs as a user: root in a container is that user
	Arch     string   // as Go calls it
	Lacks    []string // limits that it cannot set
}

// NoEngineError says that no engine answers. It passes when one is started.
type NoEngineError struct{ Tried []string }

func (e *NoEngineError) Error() string {
	return "no container engine answers: tried " + strings.Join(e.Tried, "; ")
}

// Hint says what to do.
func (e *NoEngineError) Hint() string {
	return "start Docker, or Podman's service (systemctl --user start podman.socket), and see that this user may use its socket; DOCKER_HOST or a docker context names another one"
}

// Connect finds the engine by the variables and contexts that the docker
// command knows and asks it what it can do. getenv may be nil for the
// process's own environment. The error is a *NoEngineError where none answers.
func Connect(ctx context.Context, getenv func(string) string) (*Engine, error) {
	if getenv == nil {
		getenv = os.Getenv
	}
	candidates, err := endpoints(getenv)
	if err != nil {
		return nil, fmt.Errorf("find container engine: %w", err)
	}
	none := &NoEngineError{}
	for _, c := range candidates {
		e, err := connect(ctx, c)
		if err == nil {
			e.sockets = append(sockets(getenv), e.Socket())
			return e, nil
		}
		none.Tried = append(none.Tried, fmt.Sprintf("%s (%s): %s", c.host, c.from, firstLine(err)))
	}
	return nil, none
}

func connect(ctx context.Context, at endpoint) (*Engine, error) {
	opts := []client.Opt{client.WithHost(at.host), client.WithUserAgent("longshore")}
	if at.tls != (tlsFiles{}) {
		opts = append(opts, client.WithTLSClientConfig(at.tls.ca, at.tls.cert, at.tls.key))
	}
	if path, ok := strings.CutPrefix(at.host, "unix://"); ok {
		if _, err := os.Stat(path); err != nil {
			return nil, err
		}
	}
	api, err := client.New(opts...)
	if err != nil {
		return nil, err
	}
	e := &Engine{api: api, host: at.host}
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	if err := e.ask(ctx); err != nil {
		return nil, errors.Join(err, api.Close())
	}
	return e, nil
}

// ask learns what the engine can do.
func (e *Engine) ask(ctx context.Context) error {
	answer, err := e.api.Info(ctx, client.InfoOptions{})
	if err != nil {
		return err
	}
	version, err := e.api.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return err
	}
	info := answer.Info
	e.facts = Facts{Host: e.host, Name: strings.TrimSpace(info.ServerVersion + " on " + info.OperatingSystem), Arch: goArch(info.Architecture)}
	for _, part := range version.Components {
		if part.Name == podmanEngine {
			e.facts.Podman, e.facts.Name = true, "Podman "+e.facts.Name
		}
	}
	for _, option := range info.SecurityOptions {
		e.facts.Rootless = e.facts.Rootless || strings.HasPrefix(option, "name=rootless")
		e.userns = e.userns || strings.HasPrefix(option, "name=userns")
	}
	for limit, can := range map[string]bool{"memory": info.MemoryLimit, "pids": info.PidsLimit, "cpus": info.CPUCfsQuota} {
		if !can {
			e.facts.Lacks = append(e.facts.Lacks, limit)
		}
	}
	slices.Sort(e.facts.Lacks)
	if e.facts.Podman {
		return e.askRights(ctx)
	}
	return nil
}

// Facts tells what the engine is, as of Connect.
func (e *Engine) Facts() Facts { return e.facts }

// Close lets go of the connection. Containers run on.
func (e *Engine) Close() error { return e.api.Close() }

// Socket is the path of the engine's socket on this machine; empty: it listens
// elsewhere.
func (e *Engine) Socket() string {
	path, _ := strings.CutPrefix(e.host, "unix://")
	if path == e.host {
		return ""
	}
	return path
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// goArch is Go's name for what uname says.
func goArch(machine string) string {
	switch machine {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	}
	return machine
}

// CheckImage returns an error unless the engine has the image.
func (e *Engine) CheckImage(ctx context.Context, name string) error {
	if _, err := e.api.ImageInspect(ctx, name); err != nil {
		return fmt.Errorf("look for image %s: %w", name, err)
	}
	return nil
}
