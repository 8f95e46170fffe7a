package docker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/longshore-bridge/longshore/host/runtime"
)

// oomDelay is how long after a container's end its engine may still learn that
// memory was the reason: the kernel reports the two separately.
const oomDelay = 2 * time.Second

// killed is the exit status of a process that SIGKILL ended.
const killed = 128 + 9

// exitError returns why an assistant ended; nil: by itself and without error.
func (s *session) exitError(ctx context.Context, exit container.WaitResponse) error {
	err := s.exitReason(ctx, exit)
	switch {
	case !s.away:
		return err
	case err == nil:
		return errors.New("the container engine went away while the assistant ran; the output of that time is lost")
	}
	return fmt.Errorf("the container engine went away while the assistant ran: %w", err)
}

func (s *session) exitReason(ctx context.Context, exit container.WaitResponse) error {
	switch {
	case exit.Error != nil && exit.Error.Message != "":
		return fmt.Errorf("container: %s", exit.Error.Message)
	case exit.StatusCode == 0:
		return nil
	case s.outOfMemory(ctx, exit.StatusCode):
		return fmt.Errorf("%w; the assistant's limit is memory: %d MiB", runtime.ErrOutOfMemory, s.memory>>20)
	case exit.StatusCode == killed && s.engine.facts.Podman: // Podman does not report the reason
		return fmt.Errorf("killed by signal 9, perhaps because of its memory; the assistant's limit is memory: %d MiB", s.memory>>20)
	case exit.StatusCode > 128:
		return fmt.Errorf("killed by signal %d", exit.StatusCode-128)
	}
	return fmt.Errorf("exit status %d", exit.StatusCode)
}

// outOfMemory reports whether the kernel killed a process of the container for
// its memory. Docker records that for a container only if it learns of it
// before the container's end; on a busy machine it misses one in twenty.
// Docker's list of events contains it in any order.
func (s *session) outOfMemory(ctx context.Context, status int64) bool {
	found, err := s.engine.api.ContainerInspect(ctx, s.id, client.ContainerInspectOptions{})
	if err != nil || found.Container.State == nil {
		return false
	}
	state := found.Container.State
	if state.OOMKilled || status != killed || s.Stopped() || s.away || s.engine.facts.Podman {
		return state.OOMKilled
	}
	began, err := time.Parse(time.RFC3339Nano, state.StartedAt)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, oomDelay)
	defer cancel()
	heard := s.engine.api.Events(ctx, client.EventsListOptions{
		Since:   strconv.FormatInt(began.Unix(), 10),
		Filters: client.Filters{}.Add("container", s.id).Add("event", "oom"),
	})
	select {
	case <-heard.Messages:
		return true
	case <-heard.Err:
		return false
	}
}
