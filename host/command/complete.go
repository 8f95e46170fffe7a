package command

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/operator"
)

// completePatience is for how long a shell waits for the host's ids.
const completePatience = 2 * time.Second

// suggest returns what may stand at a place of the command line. An error suggests nothing.
type suggest func(ctx context.Context, c *config.Config) []string

// complete has a shell suggest groups, channels and ids wherever one is wanted.
func (e *env) complete(root *cobra.Command) {
	args := map[string]suggest{
		"why": e.groupNames, "logs": e.groupNames, "unpair": e.channelNames,
		"queue": e.itemIDs(operator.Filter{}), "errors": e.itemIDs(operator.Filter{Failed: true}), "approvals": e.itemIDs(operator.Filter{Waiting: true}),
		"tasks": e.taskIDs, "links": e.linkIDs,
	}
	for _, cmd := range root.Commands() {
		all := append(cmd.Commands(), cmd)
		for _, one := range all {
			if by := args[cmd.Name()]; by != nil && one.Name() != "list" && (one != cmd || len(all) == 1) {
				one.ValidArgsFunction = e.suggestions(by)
			}
			for flag, by := range map[string]suggest{"group": e.groupNames, "channel": e.channelNames} {
				if one.Flags().Lookup(flag) != nil {
					cobra.CheckErr(one.RegisterFlagCompletionFunc(flag, e.suggestions(by)))
				}
			}
		}
	}
}

// suggestions is what cobra calls while somebody types.
func (e *env) suggestions(by suggest) func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		e.find(cmd.Flags().Changed("config"))
		c, err := config.Load(e.config, e.platforms)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(context.Background(), completePatience)
		defer cancel()
		return by(ctx, c), cobra.ShellCompDirectiveNoFileComp
	}
}

func (e *env) groupNames(_ context.Context, c *config.Config) (all []string) {
	for _, g := range c.Groups {
		all = append(all, g.Folder)
	}
	return all
}

func (e *env) channelNames(_ context.Context, c *config.Config) (all []string) {
	for _, one := range c.Channels {
		all = append(all, one.Name)
	}
	return all
}

func (e *env) itemIDs(f operator.Filter) suggest {
	f.Limit = 100
	return func(ctx context.Context, c *config.Config) (all []string) {
		items, _ := operator.NewClient(operator.ControlDir(c.Layout())).List(ctx, f)
		for _, i := range items {
			all = append(all, shortID(i))
		}
		return all
	}
}

func (e *env) taskIDs(ctx context.Context, c *config.Config) (all []string) {
	tasks, _ := operator.NewClient(operator.ControlDir(c.Layout())).Tasks(ctx, "")
	for _, t := range tasks {
		all = append(all, t.ID)
	}
	return all
}

func (e *env) linkIDs(ctx context.Context, c *config.Config) (all []string) {
	links, _ := operator.NewClient(operator.ControlDir(c.Layout())).Links(ctx, "")
	for _, l := range links {
		all = append(all, l.ID)
	}
	return all
}
