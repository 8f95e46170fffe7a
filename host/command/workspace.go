package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/engines"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

func newWorkspace(e *env) *cobra.Command {
	list := terminal.Verb("list", "list the groups whose workspace is a volume of a container engine", func(cmd *cobra.Command, _ []string) error {
		all, err := e.workspaces(cmd.Context(), "")
		if all == nil {
			return err
		}
		return errors.Join(e.Answer(all, func() error {
			return terminal.List(&e.Terminal, "there are none", []string{"GROUP", "VOLUME", "ENGINE"}, all, func(w workspace) []string {
				return []string{w.Group, w.Volume, terminal.OrDash(w.Engine)}
			})
		}), err)
	})
	var engine string
	remove := &cobra.Command{
		Use:   "remove GROUP",
		Short: "delete the workspace of a group whose assistant has share: none",
		Long: `remove deletes the volume with all that the group's assistant has kept: its files and its CLI's conversations.
GROUP is the folder, also that of a group which is no longer configured. Nothing else deletes a volume. A group
that has moved has a workspace on several engines: --engine names the one to delete.`,
		Args: terminal.Exactly("group"),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := e.workspaces(cmd.Context(), engine)
			if err != nil {
				return err
			}
			all = slices.DeleteFunc(all, func(w workspace) bool { return w.Group != args[0] })
			switch len(all) {
			case 0:
				return &refusal.Error{Code: docker.CodeNoVolume, Message: fmt.Sprintf("no volume has a workspace of %q", args[0]), Hint: "see: longshore workspace list"}
			case 1:
				if err := e.removeWorkspace(cmd.Context(), all[0]); err != nil {
					return err
				}
				return e.Done(struct{}{}, "removed")
			}
			var on []string
			for _, w := range all {
				on = append(on, w.Engine)
			}
			return terminal.Hinted(fmt.Errorf("%s has a workspace on several engines: %s", args[0], strings.Join(on, ", ")), "name one with --engine")
		},
	}
	remove.Flags().StringVar(&engine, "engine", "", "`name` of the engine that has the workspace; default: all below engines")
	return terminal.Family("workspace", "list and delete workspaces that are volumes", list, remove)
}

// workspace is a group's volume on an engine.
type workspace struct {
	Group  string `json:"group"`
	Volume string `json:"volume"`
	Engine string `json:"engine,omitempty"` // empty: the only one
}

// workspaces asks the engine of that name, or without one all engines at the same time. The error has
// the engines that did not answer.
func (e *env) workspaces(ctx context.Context, engine string) ([]workspace, error) {
	cfg, err := e.load()
	if err != nil {
		return nil, err
	}
	names, err := enginesOf(cfg, engine)
	if err != nil {
		return nil, err
	}
	owner, err := serve.OwnerOf(ctx, cfg)
	if err != nil {
		return nil, err
	}
	found, errs := make([][]workspace, len(names)), make([]error, len(names))
	var each sync.WaitGroup
	for i, name := range names {
		each.Go(func() {
			errs[i] = e.withEngine(ctx, name, func(engine *docker.Engine) error {
				folders, err := engine.Volumes(ctx, owner)
				slices.Sort(folders)
				for _, folder := range folders {
					found[i] = append(found[i], workspace{folder, docker.Volume(owner, folder), name})
				}
				return err
			})
		})
	}
	each.Wait()
	return append([]workspace{}, slices.Concat(found...)...), errors.Join(errs...)
}

func (e *env) removeWorkspace(ctx context.Context, w workspace) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	owner, err := serve.OwnerOf(ctx, cfg)
	if err != nil {
		return err
	}
	return e.withEngine(ctx, w.Engine, func(engine *docker.Engine) error { return engine.RemoveVolume(ctx, owner, w.Group) })
}

// withEngine calls fn with the engine of that name.
func (e *env) withEngine(ctx context.Context, name string, fn func(*docker.Engine) error) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	engine, err := engines.Connect(ctx, cfg, name, e.getenv)
	if err != nil && name != "" {
		err = fmt.Errorf("%s: %w", engines.Part(name), err)
	}
	if err != nil {
		return err
	}
	defer engine.Close()
	return fn(engine)
}
