package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
	"github.com/longshore-bridge/longshore/media"
)

func newImage(e *env) *cobra.Command {
	return terminal.Family("image", "the image that assistants' containers are made of", newImageBuild(e))
}

func newImageBuild(e *env) *cobra.Command {
	o := docker.BuildOptions{Args: map[string]string{}}
	var agent, base, tools, snapshot string
	cmd := &cobra.Command{
		Use:   "build",
		Short: "build the assistants' image",
		Long: `Builds the image in the container engine, out of Dockerfile.agent and a static
agentrunner, which is looked for beside longshore. Nothing secret goes in.`,
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
			return e.buildImage(cmd, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&agent, "agent", "none", "`agent` CLI to install: claude, codex, gemini, opencode or none")
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

// buildEngine connects to the engine that the configuration names, or without one to this machine's.
func (e *env) buildEngine(ctx context.Context) (*docker.Engine, error) {
	cfg, err := config.Load(e.Config, e.platforms)
	if err != nil { // an image may be built before there is a configuration
		return docker.Connect(ctx, e.getenv)
	}
	return doctor.Connect(ctx, cfg, e.getenv)
}

func (e *env) buildImage(cmd *cobra.Command, o docker.BuildOptions) error {
	engine, err := e.buildEngine(cmd.Context())
	if err != nil {
		return err
	}
	defer engine.Close()
	if !e.JSON {
		o.Progress = func(line string) { e.Say("%s", media.Printable(line)) }
	}
	id, err := engine.Build(cmd.Context(), o)
	if err != nil {
		return err
	}
	return e.Done(map[string]string{"image": o.Tag, "id": id, "engine": engine.Facts().Host}, "built %s", o.Tag)
}
