package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/client"

	"github.com/longshore-bridge/longshore/host/runtime/ssh"
)

// pingTime limits how long an engine may take to answer.
const pingTime = 10 * time.Second

// Engine is a connection to a container engine. Its methods may be called
// concurrently. The caller of Connect closes it.
type Engine struct {
	api    *client.Client
	host   string
	facts  Facts
	userns bool // the engine maps containers' users to other users of the host

	sockets []string // sockets of every engine that this machine may have, including this one's

	link     *ssh.Link // to the engine's machine; nil: it is this one
	uid, gid int       // of the account there

	mu   sync.Mutex
	left []string // containers that could not be removed
}

// Facts describes an engine.
type Facts struct {
	Host     string   // its address, in the form of DOCKER_HOST
	Name     string   // its version and system, as it reports them
	Podman   bool     // the engine is Podman, whose API differs in parts
	Rootless bool     // the engine runs as a user; root in a container is that user
	Arch     string   // in Go's terms
	Lacks    []string // limits that the engine cannot set
}

// NoEngineError means that no engine answers. It is temporary: it ends when an
// engine is started.
type NoEngineError struct{ Tried []string }

func (e *NoEngineError) Error() string {
	return "no container engine answers: tried " + strings.Join(e.Tried, "; ")
}

// Hint returns the remedy.
func (e *NoEngineError) Hint() string {
	return "start Docker, or Podman's service (systemctl --user start podman.socket), and make sure that this user may use its socket; DOCKER_HOST or a docker context can name another engine"
}

// Connect finds the engine by the same variables and contexts as the docker
// command, and asks it what it can do. If getenv is nil, the process's
// environment is used. If no engine answers, the error is a *NoEngineError.
func Connect(ctx context.Context, getenv func(string) string) (*Engine, error) {
	return ConnectAt(ctx, getenv, "")
}

// ConnectAt is Connect for the engine that listens at a unix socket of this machine; an empty
// socket: the engine that Connect finds. No container may mount the other sockets either.
func ConnectAt(ctx context.Context, getenv func(string) string, socket string, others ...string) (*Engine, error) {
	if getenv == nil {
		getenv = os.Getenv
	}
	candidates, err := endpoints(getenv)
	if socket != "" {
		candidates, err = []endpoint{{host: "unix://" + socket, from: "engines", chosen: true}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find container engine: %w", err)
	}
	none := &NoEngineError{}
	for _, c := range candidates {
		e, err := connect(ctx, c)
		if err == nil {
			e.sockets = append(append(sockets(getenv), e.Socket()), others...)
			return e, nil
		}
		none.Tried = append(none.Tried, fmt.Sprintf("%s (%s): %s", c.host, c.from, firstLine(err)))
	}
	return nil, none
}

// ConnectOver connects to the engine that listens at a unix socket of another machine. An
// error may wrap an *ssh.Fault.
func ConnectOver(ctx context.Context, target ssh.Target, socket string) (*Engine, error) {
	link := &ssh.Link{Target: target}
	_, home, err := link.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("reach the engine's machine: %w", ssh.Words(err))
	}
	api, err := client.New(client.WithHost("unix://"+socket), client.WithUserAgent("longshore"),
		client.WithDialContext(func(ctx context.Context, _, _ string) (net.Conn, error) { return link.DialUnix(ctx, socket) }))
	if err != nil {
		link.Close()
		return nil, err
	}
	e := &Engine{api: api, host: "ssh://" + target.User + "@" + target.Host + socket, link: link}
	uid, errUID := strconv.Atoi(home.UID)
	gid, errGID := strconv.Atoi(home.GID)
	e.uid, e.gid = uid, gid
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	if err := errors.Join(errUID, errGID, e.ask(ctx)); err != nil {
		return nil, fmt.Errorf("ask the engine on the other machine: %w", errors.Join(ssh.Words(err), e.Close()))
	}
	return e, nil
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

// ask reads the engine's facts.
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

// Ping returns an error unless the engine answers within that time.
func (e *Engine) Ping(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if _, err := e.api.Ping(ctx, client.PingOptions{}); err != nil {
		return fmt.Errorf("ask the engine: %w", ssh.Words(err))
	}
	return nil
}

// Facts returns the facts as of Connect.
func (e *Engine) Facts() Facts { return e.facts }

// Close closes the connection. Containers continue to run.
func (e *Engine) Close() error {
	err := e.api.Close()
	if e.link != nil {
		e.link.Close()
	}
	return err
}

// HasSockets reports whether a socket of the host can be mounted in the engine's containers.
func (e *Engine) HasSockets() bool { return e.link != nil || e.Socket() != "" }

// Elsewhere reports whether the engine was reached over ssh.
func (e *Engine) Elsewhere() bool { return e.link != nil }

// Socket returns the path of the engine's socket on this machine; empty if the
// engine listens elsewhere.
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

// goArch returns Go's name of a machine that uname names.
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
