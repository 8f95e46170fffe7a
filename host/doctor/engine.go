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
	"github.com/longshore-bridge/longshore/host/engines"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/finding"
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

// Images checks that an engine has the image of each assistant that runs in a
// container. name is the engine's in c; empty: it is the only one.
func Images(ctx context.Context, engine *docker.Engine, c *config.Config, name string) (all []finding.Finding) {
	seen := map[string]bool{}
	for _, g := range c.InContainers() {
		a := c.Assistants[g.Assistant]
		if seen[a.Image] {
			continue
		}
		seen[a.Image] = true
		if err := engine.CheckImage(ctx, a.Image); err != nil {
			words, command := err.Error(), buildCommand(c, a)
			if name != "" {
				words, command = engines.Part(name)+": "+words, command+" --engine "+name
			}
			all = append(all, ofAssistant(g.Assistant, cause.Image, words, "build it: "+command))
		}
	}
	return all
}

// Containers is Images, and if none is missing has the engine start a container from one of
// them, in which no program of the image runs.
func Containers(ctx context.Context, engine *docker.Engine, c *config.Config, name string) []finding.Finding {
	all, boxed := Images(ctx, engine, c, name), c.InContainers()
	if len(all) > 0 || len(boxed) == 0 {
		return all
	}
	if err := engine.Try(ctx, c.Assistants[boxed[0].Assistant].Image); err != nil {
		return noStart(c, engines.Part(name)+": it starts no containers: "+err.Error(), "install or correct what it names: docs/containers.md lists what an engine needs")
	}
	return nil
}

// buildCommand returns the command that builds the image of an assistant.
func buildCommand(c *config.Config, a config.Assistant) string {
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
func examineMounts(engine *docker.Engine, c *config.Config, boxed []groups.Group) (all []finding.Finding) {
	for _, g := range boxed {
		if c.Alone(g) {
			if !engine.HasSockets() {
				all = append(all, found(string(cause.Start), "group "+g.Folder, finding.Fault, fmt.Sprintf("group %s: the engine listens at %s", g.Folder, engine.Facts().Host), docker.ErrFarEngine.Error())...)
			}
			continue
		}
		table, err := mounts.Table(c.Layout(), g)
		if err == nil {
			err = engine.AccessOf(c.State.Directory, there(c.State.Directory, WithHome(c.Layout(), g.Folder, table)))
		}
		for _, one := range joined(err) {
			all = append(all, found(string(cause.Directory), "group "+g.Folder, finding.Fault, fmt.Sprintf("group %s: %v", g.Folder, one), "give the containers' user the rights that the message names; the host tries again by itself")...)
		}
	}
	return all
}

// there removes the directories that the host creates at its start: those of
// the state directory that do not exist yet.
func there(state string, table []mounts.Mount) []mounts.Mount {
	return slices.DeleteFunc(slices.Clone(table), func(m mounts.Mount) bool {
		_, err := os.Lstat(m.Host)
		return errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(m.Host, state+string(filepath.Separator))
	})
}

// joined returns the errors that an error was joined from.
func joined(err error) []error {
	var all interface{ Unwrap() []error }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &all):
		return all.Unwrap()
	}
	return []error{err}
}
