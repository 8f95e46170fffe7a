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

// oomDelay is how much later than a container's end its engine may hear that
// memory was the reason: the kernel tells of both on separate ways.
const oomDelay = 2 * time.Second

// killed is the exit status of what SIGKILL ended.
const killed = 128 + 9

// verdict says why an assistant ended; nil: by itself and in good order.
func (s *session) verdict(ctx context.Context, exit container.WaitResponse) error {
	err := s.reason(ctx, exit)
	switch {
	case !s.away:
		return err
	case err == nil:
		return errors.New("the container engine went away while it ran, and what it said then is lost")
	}
	return fmt.Errorf("the container engine went away while it ran: %w", err)
}

func (s *session) reason(ctx context.Context, exit container.WaitResponse) error {
	switch {
	case exit.Error != nil && exit.Error.Message != "":
		return fmt.Errorf("container: %s", exit.Error.Message)
	case exit.StatusCode == 0:
		return nil
	case s.outOfMemory(ctx, exit.StatusCode):
		return fmt.Errorf("%w; the assistant's limit is memory: %d MiB", runtime.ErrOutOfMemory, s.memory>>20)
	case exit.StatusCode == killed && s.engine.facts.Podman: // which does not tell
		return fmt.Errorf("killed by signal 9, as what wants more memory than its limit is; the assistant's is memory: %d MiB", s.memory>>20)
	case exit.StatusCode > 128:
		return fmt.Errorf("killed by signal %d", exit.StatusCode-128)
	}
	return fmt.Errorf("exit status %d", exit.StatusCode)
}

// outOfMemory says whether the kernel killed something in the container for
// the memory it wanted. Docker notes that of a container only if it hears of
// it before the container's end, which on a busy machine one in twenty times
// it does not. Its list of events has it in any order.
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
