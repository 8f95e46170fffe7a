package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
	"github.com/longshore-bridge/longshore/host/runtime/ssh"
)

// WithHome adds the group's home directory, if it has one, to the mounts of its
// container.
func WithHome(l groups.Layout, folder string, table []mounts.Mount) []mounts.Mount {
	home := filepath.Join(l.Homes(), folder)
	if _, err := os.Lstat(home); err != nil || l.V1 {
		return table
	}
	return append(slices.Clone(table), mounts.Mount{Container: docker.Home, Host: home})
}

// Connect connects to the engine that the configuration names, or finds this machine's.
func Connect(ctx context.Context, c *config.Config, getenv func(string) string) (*docker.Engine, error) {
	if c.Engine.SSH.Host != "" {
		return docker.ConnectOver(ctx, ssh.Target(c.Engine.SSH), c.Engine.Socket)
	}
	return docker.Connect(ctx, getenv)
}

// examineEngine checks what the containers of a configuration need: the engine,
// the images, and directories that they can use. It returns the path of the
// engine's socket, if the engine has one.
func examineEngine(ctx context.Context, c *config.Config, getenv func(string) string) (socket string, findings []Finding) {
	boxed := c.InContainers()
	if len(boxed) == 0 {
		return "", nil
	}
	engine, err := Connect(ctx, c, getenv)
	if err != nil {
		hint, message := "", err.Error()
		if none, ok := errors.AsType[*docker.NoEngineError](err); ok {
			hint = none.Hint()
		}
		if fault, ok := errors.AsType[*ssh.Fault](err); ok {
			hint, message = fault.Remedy, strings.TrimSuffix(message, "; to do: "+fault.Remedy)
		}
		return "", []Finding{{Check: "engine", Severity: Fault, Message: message, Remedy: hint}}
	}
	defer engine.Close()
	facts := engine.Facts()
	findings = append(findings, Finding{Check: "engine", Severity: Fine, Message: "it answers at " + facts.Host + ": " + facts.Name})
	if len(facts.Lacks) > 0 {
		findings = append(findings, Finding{
			Check: "engine", Severity: Warning, Message: fmt.Sprintf("it cannot limit %s", strings.Join(facts.Lacks, ", ")),
			Remedy: "on a rootless engine, have systemd delegate the controllers (of control groups version 2) to the user",
		})
	}
	findings = append(findings, Containers(ctx, engine, c)...)
	return engine.Socket(), append(findings, examineMounts(engine, c, boxed)...)
}

// Images checks that the engine has the image of each assistant that runs in a
// container.
func Images(ctx context.Context, engine *docker.Engine, c *config.Config) (findings []Finding) {
	seen := map[string]bool{}
	for _, g := range c.InContainers() {
		a := c.Assistants[g.Assistant]
		if seen[a.Image] {
			continue
		}
		seen[a.Image] = true
		if err := engine.CheckImage(ctx, a.Image); err != nil {
			findings = append(findings, Finding{Check: "engine", Severity: Fault, Message: err.Error(), Remedy: "build it: " + BuildCommand(c, a)})
		}
	}
	return findings
}

// Containers is Images, and if none is missing has the engine start a container from one of
// them, in which no program of the image runs.
func Containers(ctx context.Context, engine *docker.Engine, c *config.Config) []Finding {
	findings, boxed := Images(ctx, engine, c), c.InContainers()
	if len(findings) > 0 || len(boxed) == 0 {
		return findings
	}
	if err := engine.Try(ctx, c.Assistants[boxed[0].Assistant].Image); err != nil {
		return []Finding{{Check: "engine", Severity: Fault, Message: "it starts no containers: " + err.Error(), Remedy: "install or correct what it names: see docs/containers.md"}}
	}
	return nil
}

// BuildCommand returns the command that builds the image of an assistant.
func BuildCommand(c *config.Config, a config.Assistant) string {
	if c.Layout().V1 {
		return "container/build.sh in NanoClaw's directory"
	}
	command := "longshore image build --tag " + a.Image
	if a.Agent != "sample" && a.Agent != "command" { // these need no CLI
		command += " --agent " + a.Agent
	}
	return command
}

// examineMounts checks that the groups' containers can use their directories.
func examineMounts(engine *docker.Engine, c *config.Config, boxed []groups.Group) (findings []Finding) {
	for _, g := range boxed {
		if c.Alone(g) {
			if !engine.HasSockets() {
				findings = append(findings, Finding{
					Check: "engine", Severity: Fault, Message: fmt.Sprintf("group %s: the engine listens at %s", g.Folder, engine.Facts().Host), Remedy: docker.ErrFarEngine.Error(),
				})
			}
			continue
		}
		table, err := mounts.Table(c.Layout(), g)
		if err == nil {
			err = engine.AccessOf(c.State, there(c.State, WithHome(c.Layout(), g.Folder, table)))
		}
		for _, one := range each(err) {
			findings = append(findings, Finding{
				Check: "engine", Severity: Fault, Message: fmt.Sprintf("group %s: %v", g.Folder, one), Remedy: "follow the message, then start the host again",
			})
		}
	}
	return findings
}

// there removes the directories that the host creates at its start: those of
// the state directory that do not exist yet.
func there(state string, table []mounts.Mount) []mounts.Mount {
	return slices.DeleteFunc(slices.Clone(table), func(m mounts.Mount) bool {
		_, err := os.Lstat(m.Host)
		return errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(m.Host, state+string(filepath.Separator))
	})
}

// each returns the errors that an error was joined from.
func each(err error) []error {
	var joined interface{ Unwrap() []error }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &joined):
		return joined.Unwrap()
	}
	return []error{err}
}
