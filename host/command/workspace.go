package command

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
)

func newWorkspace(e *env) *cobra.Command {
	list := terminal.Verb("list", "list the groups whose workspace is a volume of the container engine", func(cmd *cobra.Command, _ []string) error {
		return e.withVolumes(cmd.Context(), func(engine *docker.Engine, state string) error {
			folders, err := engine.Volumes(cmd.Context(), state)
			if err != nil {
				return err
			}
			slices.Sort(folders)
			return e.Answer(append([]string{}, folders...), func() error {
				return terminal.List(&e.Terminal, "there are none", []string{"GROUP", "VOLUME"}, folders, func(folder string) []string {
					return []string{folder, docker.Volume(state, folder)}
				})
			})
		})
	})
	remove := &cobra.Command{
		Use:   "remove GROUP",
		Short: "delete the workspace of a group whose assistant has share: none",
		Long: `remove deletes the volume with all that the group's assistant has kept: its files and its CLI's conversations.
GROUP is the folder, also that of a group which is no longer configured. Nothing else deletes a volume.`,
		Args: terminal.Exactly("group"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.withVolumes(cmd.Context(), func(engine *docker.Engine, state string) error {
				if err := engine.RemoveVolume(cmd.Context(), state, args[0]); err != nil {
					return err
				}
				return e.Done(struct{}{}, "removed")
			})
		},
	}
	return terminal.Family("workspace", "list and delete workspaces that are volumes", list, remove)
}

// withVolumes calls fn with the container engine and the state directory.
func (e *env) withVolumes(ctx context.Context, fn func(engine *docker.Engine, state string) error) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	engine, err := doctor.Connect(ctx, cfg, e.getenv)
	if err != nil {
		return err
	}
	defer engine.Close()
	return fn(engine, cfg.Layout().State)
}
