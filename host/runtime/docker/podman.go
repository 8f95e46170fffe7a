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

// podmanEngine is how Podman calls itself among the parts of its version.
const podmanEngine = "Podman Engine"

// maxAnswer bounds what is read of an answer by Podman's own interface.
const maxAnswer = 1 << 20

// owner are the options that give a file system in memory to the containers'
// user: the kernel's own for Docker, which passes them on; Podman 4 refuses
// those and has one that says it without a number.
func (e *Engine) owner() string {
	if e.facts.Podman {
		return "U"
	}
	uid, gid := e.user()
	return fmt.Sprintf("uid=%d,gid=%d", uid, gid)
}

// forPodman says the same as config in Podman's words.
//
// Into a file system in memory Podman copies what it finds at that place, so
// that a shadow would show what it hides. The option against it can only be
// given to those that have no mount of their own.
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

// nameInUse says whether a container was refused for its name: a conflict,
// which Podman 4 answers as if it were a fault of its own.
func nameInUse(err error) bool {
	return errdefs.IsConflict(err) || err != nil && strings.Contains(err.Error(), "that name is already in use")
}

// networkMissing says whether Podman has no network of the name, which it
// answers in the same way.
func networkMissing(err error) bool {
	return strings.Contains(err.Error(), "network not found")
}

// known is how a container ended where Podman 4, asked in the moment of its
// end, only says that it does not know.
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

// prepare lets Podman make all that the container needs to start; Docker does
// when it starts it. An attach to Podman does so too, but of what went wrong its
// client tells the status alone.
func (e *Engine) prepare(ctx context.Context, id string) error {
	if !e.facts.Podman {
		return nil
	}
	if err := e.askPodman(ctx, http.MethodPost, "containers/"+id+"/init", nil); err != nil {
		return fmt.Errorf("prepare container: %w", err)
	}
	return nil
}

// askRights learns what Podman 4 does not tell in Docker's words: whether it
// runs as a user, and which limits such a one may set.
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

// askPodman asks by Podman's own interface, in the form of its version 4, and
// decodes the answer into what is there for it; nil: nothing.
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

// processLimit names the limit of processes that Podman would otherwise raise
// to a million, which an engine without CAP_SYS_RESOURCE, as one that itself
// is in a container, is refused. Podman's service lowers its own to the
// kernel's pid_max. What bounds an assistant is the limit of its container;
// this one counts all that its user has.
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
