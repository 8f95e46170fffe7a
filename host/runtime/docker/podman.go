package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"
)

// podmanEngine is Podman's name in the components of its version.
const podmanEngine = "Podman Engine"

// maxAnswer limits how much of an answer of Podman's own API is read, in bytes.
const maxAnswer = 1 << 20

// owner returns the mount options that make the containers' user the owner of a
// file system in memory. Docker passes them on to the kernel. Podman 4 refuses
// these and has its own option, without a number.
func (e *Engine) owner() string {
	if e.facts.Podman {
		return "U"
	}
	uid, gid := e.user()
	return fmt.Sprintf("uid=%d,gid=%d", uid, gid)
}

// forPodman changes config to Podman's form.
//
// Podman copies the files below a mount point into a file system in memory, so
// a shadow would show what it hides. The option against that exists only for
// Tmpfs, not for Mounts, so the shadows move there.
func forPodman(config *container.HostConfig) {
	config.Ulimits = append(config.Ulimits, processLimit())
	for target, options := range config.Tmpfs {
		config.Tmpfs[target] = options + ",notmpcopyup"
	}
	config.Mounts = slices.DeleteFunc(config.Mounts, func(m mount.Mount) bool {
		if m.Type != mount.TypeTmpfs {
			return false
		}
		access := "rw"
		if m.ReadOnly {
			access = "ro"
		}
		config.Tmpfs[m.Target] = fmt.Sprintf("%s,noexec,nosuid,nodev,notmpcopyup,mode=%o,size=%d", access, m.TmpfsOptions.Mode, m.TmpfsOptions.SizeBytes)
		return true
	})
}

// nameInUse reports whether the engine refused a container because of its name.
// Docker answers with a conflict, Podman 4 with an internal error.
func nameInUse(err error) bool {
	return errdefs.IsConflict(err) || err != nil && strings.Contains(err.Error(), "that name is already in use")
}

// networkMissing reports whether Podman has no network of that name. Podman 4
// answers that with an internal error too.
func networkMissing(err error) bool {
	return strings.Contains(err.Error(), "network not found")
}

// known returns how a container ended. If Podman 4 is asked at the moment of
// the end, it only answers that it does not know; then known asks again.
func (s *session) known(exit container.WaitResponse) container.WaitResponse {
	if !s.engine.facts.Podman || exit.Error == nil {
		return exit
	}
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	found, err := s.engine.api.ContainerInspect(ctx, s.id, client.ContainerInspectOptions{})
	if err != nil || found.Container.State == nil || found.Container.State.Running {
		return exit
	}
	return container.WaitResponse{StatusCode: int64(found.Container.State.ExitCode)}
}

// prepare lets Podman make everything that the container needs to start. Docker
// does so at the start. Attaching to Podman does so too, but then Podman's
// client reports only the status of an error.
func (e *Engine) prepare(ctx context.Context, id string) error {
	if !e.facts.Podman {
		return nil
	}
	if err := e.askPodman(ctx, http.MethodPost, "containers/"+id+"/init", nil); err != nil {
		return fmt.Errorf("prepare container: %w", err)
	}
	return nil
}

// askRights reads what Podman 4 does not report in Docker's API: whether it is
// rootless, and which limits it can then set.
func (e *Engine) askRights(ctx context.Context) error {
	var info struct {
		Host struct {
			Controllers []string `json:"cgroupControllers"`
			Security    struct {
				Rootless bool `json:"rootless"`
			} `json:"security"`
		} `json:"host"`
	}
	if err := e.askPodman(ctx, http.MethodGet, "info", &info); err != nil {
		return fmt.Errorf("ask Podman about itself: %w", err)
	}
	if !info.Host.Security.Rootless {
		return nil
	}
	e.facts.Rootless, e.facts.Lacks = true, nil
	for _, limit := range []struct{ name, controller string }{{"cpus", "cpu"}, {"memory", "memory"}, {"pids", "pids"}} {
		if !slices.Contains(info.Host.Controllers, limit.controller) {
			e.facts.Lacks = append(e.facts.Lacks, limit.name)
		}
	}
	return nil
}

// askPodman calls Podman's own API, version 4, and decodes the answer into into
// unless that is nil.
func (e *Engine) askPodman(ctx context.Context, method, path string, into any) error {
	dial := e.api.Dialer()
	transport := &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		DisableKeepAlives: true,
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://podman/v4.0.0/libpod/"+path, nil)
	if err != nil {
		return err
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer))
	if answer.StatusCode >= http.StatusBadRequest {
		var said struct {
			Message string `json:"message"`
		}
		if err := body.Decode(&said); err != nil || said.Message == "" {
			said.Message = answer.Status
		}
		return errors.New(said.Message)
	}
	if into == nil {
		return nil
	}
	return body.Decode(into)
}

// processLimit sets the limit of processes per user. Without it, Podman raises
// the limit to a million, and the kernel refuses that to an engine without
// CAP_SYS_RESOURCE, for example to one in a container. Podman's service lowers
// its own limit to the kernel's pid_max. An assistant is limited by its
// container's limit; this limit counts all processes of its user.
func processLimit() *container.Ulimit {
	limit := int64(math.MaxInt32)
	if text, err := os.ReadFile("/proc/sys/kernel/pid_max"); err == nil {
		if most, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
			limit = min(limit, most)
		}
	}
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &own); err == nil && own.Max < uint64(limit) {
		limit = int64(own.Max)
	}
	return &container.Ulimit{Name: "nproc", Soft: limit, Hard: limit}
}
