package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/engines"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
	"github.com/longshore-bridge/longshore/internal/near"
	"github.com/longshore-bridge/longshore/media"
)

func newImage(e *env) *cobra.Command {
	return terminal.Family("image", "the image that assistants' containers are made of", newImageBuild(e))
}

func newImageBuild(e *env) *cobra.Command {
	o := docker.BuildOptions{Args: map[string]string{}}
	var agent, base, tools, snapshot, engine string
	cmd := &cobra.Command{
		Use:   "build",
		Short: "build the assistants' image",
		Long: `Builds the image in each container engine of the configuration, out of Dockerfile.agent
and a static agentrunner, which is looked for beside longshore. Nothing secret goes in.`,
		Args: terminal.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := findRunner(&o.Runner); err != nil {
				return err
			}
			o.Args["AGENT"] = agent
			for _, a := range []struct{ flag, name, value string }{{"base", "BASE", base}, {"tools", "TOOLS", tools}, {"snapshot", "SNAPSHOT", snapshot}} {
				if cmd.Flags().Changed(a.flag) {
					o.Args[a.name] = a.value
				}
			}
			return e.buildImages(cmd.Context(), o, engine)
		},
	}
	f := cmd.Flags()
	f.StringVar(&agent, "agent", "none", "`agent` CLI to install: claude, codex, gemini, opencode or none")
	f.StringVar(&engine, "engine", "", "`name` of the one engine to build in; default: all below engines")
	f.StringVarP(&o.Tag, "tag", "t", "longshore-agent:latest", "`name` of the image")
	f.StringVar(&base, "base", "debian:bookworm-slim", "`image` of a Debian to build on")
	f.StringVar(&tools, "tools", "", "Debian `packages` to install instead of the usual ones, separated by spaces")
	f.StringVar(&snapshot, "snapshot", "", "`time` whose packages to install, such as 20261101T000000Z; default: now")
	f.StringVar(&o.Runner, "agentrunner", "", "`file` of agentrunner; default: the one beside longshore")
	f.StringVar(&o.CA, "ca", "", "`file` of certificates to trust while the agent is fetched, where a proxy needs it")
	f.StringVar(&o.Network, "network", "", "`network` of the build; default: the engine's")
	f.BoolVar(&o.NoCache, "no-cache", false, "use nothing of earlier builds")
	f.BoolVar(&o.Pull, "pull", false, "ask for a newer base")
	return cmd
}

// findRunner sets path to the agentrunner beside this program, unless path names one.
func findRunner(path *string) error {
	if *path != "" {
		return nil
	}
	var err error
	if *path, err = runtime.Beside(); err != nil {
		return terminal.Hinted(err, "build it with: CGO_ENABLED=0 go build -o agentrunner ./agentrunner, and name it with --agentrunner")
	}
	return nil
}

// built is an image that was built.
type built struct {
	Image  string `json:"image"`
	ID     string `json:"id"`
	Engine string `json:"engine"` // its address
	Name   string `json:"name,omitempty"`
}

// buildImages builds the image in the engine of that name, or without one in each that the
// configuration names, one after another: the error has those that failed.
func (e *env) buildImages(ctx context.Context, o docker.BuildOptions, name string) error {
	cfg, err := config.Load(e.Config, e.platforms)
	if err != nil { // an image may be built before there is a configuration
		cfg = &config.Config{}
	}
	names, err := enginesOf(cfg, name)
	if err != nil {
		return err
	}
	if !e.JSON {
		o.Progress = func(line string) { e.Say("%s", media.Printable(line)) }
	}
	var all []built
	var errs []error
	for _, name := range names {
		one, err := e.buildImage(ctx, cfg, o, name)
		if err != nil && len(names) > 1 {
			err = fmt.Errorf("%s: %w", engines.Part(name), err)
		}
		if errs = append(errs, err); err == nil {
			all = append(all, one)
		}
	}
	switch err := errors.Join(errs...); {
	case err != nil:
		return err
	case len(names) == 1:
		return e.Done(all[0], "built %s", o.Tag)
	}
	return e.Done(all, "built %s on %s", o.Tag, strings.Join(names, ", "))
}

func (e *env) buildImage(ctx context.Context, cfg *config.Config, o docker.BuildOptions, name string) (built, error) {
	engine, err := engines.Connect(ctx, cfg, name, e.getenv)
	if err != nil {
		return built{}, err
	}
	defer engine.Close()
	id, err := engine.Build(ctx, o)
	return built{o.Tag, id, engine.Facts().Host, name}, err
}

// enginesOf returns the names of all engines, or that one name if the configuration has it.
func enginesOf(cfg *config.Config, name string) ([]string, error) {
	all := cfg.EngineNames()
	switch {
	case name == "":
		return all, nil
	case slices.Contains(all, name):
		return []string{name}, nil
	}
	return nil, terminal.Hinted(fmt.Errorf("the configuration has no engine %q", name), near.Hint(name, all, "name one of: "+strings.Join(all, ", ")))
}
