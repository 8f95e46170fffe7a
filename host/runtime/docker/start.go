package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/longshore-bridge/longshore/host/runtime/ssh"
	"github.com/longshore-bridge/longshore/internal/cause"
)

// tryTime limits Try.
const tryTime = 30 * time.Second

// packages are Debian's packages of the programs that an engine needs to start containers.
var packages = map[string]string{
	"catatonit": "catatonit", "container-init": "catatonit", "docker-init": "docker.io",
	"conmon": "conmon", "crun": "crun", "runc": "runc", "containerd-shim-runc-v2": "containerd",
	"netavark": "netavark", "slirp4netns": "slirp4netns", "pasta": "passt",
	"newuidmap": "uidmap", "newgidmap": "uidmap", "fuse-overlayfs": "fuse-overlayfs",
}

// lacking finds the program in an engine's words that it does not find one of its own:
// Podman's, then those of Go's os/exec, which Docker passes on.
var lacking = regexp.MustCompile(`(container-init) binary not found|could not find "?([a-z0-9-]+)|working (conmon) binary|` +
	`OCI runtime "([a-z]+)" not found|exec: "?(?:/[^" ]*/)?([a-z0-9-]+)"?: (?:executable file not found|stat|no such file)|exec /[^ ]*/([a-z0-9-]+): no such file`)

// packageIn returns the package that an engine's words say is missing; empty: they say
// nothing of the kind.
func packageIn(words string) string {
	for _, match := range lacking.FindAllStringSubmatch(words, -1) {
		for _, program := range match[1:] {
			if found := packages[program]; found != "" {
				return found
			}
		}
	}
	return ""
}

// cannotStart adds to what an engine says of a container that it does not start: that this
// is the cause, and the package that is missing. Errors of an engine that does not answer
// stay as they are.
func cannotStart(err error) error {
	_, cut := errors.AsType[*net.OpError](err)
	_, far := errors.AsType[*ssh.Fault](err)
	if err == nil || cut || far || client.IsErrConnectionFailed(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	missing := packageIn(err.Error())
	if missing != "" {
		err = fmt.Errorf("the engine needs the package %s, which is not installed: %w", missing, err)
	}
	return &cause.Error{Cause: cause.Start, Err: err, Package: missing}
}

// Try starts a container from the image, as an assistant's, and removes it. In it only the
// engine's init runs, which finds no program. An error with the cause [cause.Start] is
// permanent until an operator has corrected something.
func (e *Engine) Try(ctx context.Context, image string) error {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	made, err := e.api.ContainerCreate(ctx, client.ContainerCreateOptions{
		Config:     &container.Config{Image: image, Entrypoint: []string{"/longshore-no-program"}},
		HostConfig: Runtime{Engine: e, Network: "none", Memory: 64 << 20, CPUs: 0.1}.withDefaults().confine(nil),
	})
	if err == nil {
		if err = e.prepare(ctx, made.ID); err == nil {
			_, err = e.api.ContainerStart(ctx, made.ID, client.ContainerStartOptions{})
		}
		if left := e.remove(context.WithoutCancel(ctx), made.ID); left != nil && err == nil {
			return fmt.Errorf("remove the container of a try: %w", left)
		}
	}
	if err != nil {
		return explain(cannotStart(err))
	}
	return nil
}
