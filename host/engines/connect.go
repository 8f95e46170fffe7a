package engines

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
	"github.com/longshore-bridge/longshore/host/runtime/ssh"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// Connect connects to the engine of that name. If the configuration names no engines, it finds this
// machine's as the docker command does. The caller closes the Engine.
func Connect(ctx context.Context, c *config.Config, name string, getenv func(string) string) (*docker.Engine, error) {
	e := c.Engines[name]
	if e.Elsewhere() {
		return docker.ConnectOver(ctx, ssh.Target(e.SSH), e.Socket)
	}
	var own []string
	for _, other := range c.Engines {
		if !other.Elsewhere() && other.Socket != "" {
			own = append(own, other.Socket)
		}
	}
	return docker.ConnectAt(ctx, getenv, e.Socket, own...)
}

// Part is an engine's name in findings.
func Part(name string) string { return strings.TrimSuffix("engine "+name, " ") }

// Away is the finding that an engine does not answer, because of err.
func Away(name string, err error) finding.Finding {
	remedy, words := "start the container engine, and make the host's user a member of its group", err.Error()
	if none, ok := errors.AsType[*docker.NoEngineError](err); ok {
		remedy = none.Hint()
	}
	if fault, ok := errors.AsType[*ssh.Fault](err); ok {
		remedy, words = fault.Remedy, strings.TrimSuffix(words, "; to do: "+fault.Remedy)
	}
	return finding.Finding{
		Name: string(cause.Engine), Part: Part(name), Severity: finding.Fault,
		Cause: fmt.Sprintf("the container %s does not answer: %s", Part(name), words), Remedy: remedy,
	}
}
