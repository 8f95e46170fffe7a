package main

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
	"github.com/longshore-bridge/longshore/host/container/docker"
	"github.com/longshore-bridge/longshore/host/operator"
)

// engine finds the container engine, or says what to do.
func (e *env) engine(ctx context.Context) (*docker.Engine, error) {
	return findEngine(ctx, e.getenv)
}

func findEngine(ctx context.Context, getenv func(string) string) (*docker.Engine, error) {
	engine, err := docker.Connect(ctx, getenv)
	if none, ok := errors.AsType[*docker.NoEngineError](err); ok {
		return nil, hinted(err, none.Hint())
	}
	return engine, err
}

// withHome adds the group's home directory, if it has one, to what its
// container mounts.
func withHome(l groups.Layout, folder string, mounts []groups.Mount) []groups.Mount {
	home := filepath.Join(l.Homes(), folder)
	if _, err := os.Lstat(home); err != nil || l.V1 {
		return mounts
	}
	return append(slices.Clone(mounts), groups.Mount{Container: docker.Home, Host: home})
}

// examineEngine looks at what the containers of a configuration need: the
// engine, the images, and directories that they can use. It returns the path
// of the engine's socket, if it has one.
func (e *env) examineEngine(ctx context.Context, c *groups.Config) (socket string, findings []operator.Finding) {
	boxed := boxedGroups(c)
	if len(boxed) == 0 {
		return "", nil
	}
	engine, err := e.engine(ctx)
	if err != nil {
		_, hint := exitOf(err)
		return "", []operator.Finding{{Check: "engine", Severity: operator.Fault, Message: err.Error(), Remedy: hint}}
	}
	defer engine.Close()
	facts := engine.Facts()
	findings = append(findings, operator.Finding{Check: "engine", Severity: operator.Fine, Message: "it answers: " + facts.Name})
	if len(facts.Lacks) > 0 {
		findings = append(findings, operator.Finding{
			Check: "engine", Severity: operator.Warning, Message: fmt.Sprintf("it cannot limit %s", strings.Join(facts.Lacks, ", ")),
			Remedy: "on a rootless engine, have systemd delegate the controllers (of control groups version 2) to the user",
		})
	}
	findings = append(findings, examineImages(ctx, engine, c, boxed)...)
	return engine.Socket(), append(findings, examineMounts(engine, c, boxed)...)
}

// boxedGroups are the groups whose assistants run in containers.
func boxedGroups(c *groups.Config) (boxed []groups.Group) {
	for _, g := range c.Groups {
		if g.Assistant != "" && c.Assistants[g.Assistant].Runtime == "docker" {
			boxed = append(boxed, g)
		}
	}
	return boxed
}

// examineImages wants the image of each assistant of the groups.
func examineImages(ctx context.Context, engine *docker.Engine, c *groups.Config, boxed []groups.Group) (findings []operator.Finding) {
	seen := map[string]bool{}
	for _, g := range boxed {
		a := c.Assistants[g.Assistant]
		if seen[a.Image] {
			continue
		}
		seen[a.Image] = true
		if err := engine.CheckImage(ctx, a.Image); err != nil {
			findings = append(findings, operator.Finding{Check: "engine", Severity: operator.Fault, Message: err.Error(), Remedy: "build it: " + buildCommand(c, a)})
		}
	}
	return findings
}

// buildCommand is how an operator makes the image of an assistant.
func buildCommand(c *groups.Config, a groups.Assistant) string {
	if c.Layout().V1 {
		return "container/build.sh in NanoClaw's directory"
	}
	command := "longshore image build --tag " + a.Image
	if a.Agent != "sample" && a.Agent != "command" { // which bring no CLI
		command += " --agent " + a.Agent
	}
	return command
}

// examineMounts wants directories that the groups' containers can use.
func examineMounts(engine *docker.Engine, c *groups.Config, boxed []groups.Group) (findings []operator.Finding) {
	for _, g := range boxed {
		m, err := groups.NewMountMap(c.Layout(), g)
		if err == nil {
			err = engine.AccessOf(c.State, there(c.State, withHome(c.Layout(), g.Folder, m.Mounts())))
		}
		for _, one := range each(err) {
			findings = append(findings, operator.Finding{
				Check: "engine", Severity: operator.Fault, Message: fmt.Sprintf("group %s: %v", g.Folder, one), Remedy: "do what it says, and start the host again",
			})
		}
	}
	return findings
}

// there leaves out what a host makes when it starts: directories of the state
// directory that are not there yet.
func there(state string, mounts []groups.Mount) []groups.Mount {
	return slices.DeleteFunc(slices.Clone(mounts), func(m groups.Mount) bool {
		_, err := os.Lstat(m.Host)
		return errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(m.Host, state+string(filepath.Separator))
	})
}

// each is what an error is joined of.
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
