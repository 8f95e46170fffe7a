package command

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/operator"
)

// completeTimeout is for how long a shell waits for the host's ids.
const completeTimeout = 2 * time.Second

// suggest returns what may stand at a place of the command line. An error suggests nothing.
type suggest func(ctx context.Context, c *config.Config) []string

// complete has a shell suggest groups, channels, ids and names wherever one is wanted. What
// is suggested goes by a command's path, or else by that of its family.
func (e *env) complete(root *cobra.Command) {
	args := map[string]suggest{
		"why": e.groupNames, "logs": e.groupNames, "workspace remove": e.groupNames, "tokens new": e.groupNames,
		"pair": e.channelNames, "unpair": e.channelNames, "store set-aside": storeNames,
		"queue": e.itemIDs(operator.Filter{}), "errors": e.itemIDs(operator.Filter{Failed: true}), "approvals": e.itemIDs(operator.Filter{Waiting: true}),
		"tasks": e.taskIDs, "links": e.linkIDs, "tokens revoke": e.tokenIDs, "groups approve": e.pairingCodes,
	}
	flags := map[string]suggest{"group": e.groupNames, "channel": e.channelNames, "assistant": assistantNames}
	for _, cmd := range root.Commands() {
		all := append(cmd.Commands(), cmd)
		for _, one := range all {
			path := strings.TrimPrefix(one.CommandPath(), root.Name()+" ")
			by := cmp.Or(pathIn(args, path), pathIn(args, cmd.Name()))
			if by != "" && one.Name() != "list" && (one != cmd || len(all) == 1) {
				one.ValidArgsFunction = e.suggestions(args[by])
			}
			for flag, by := range flags {
				if one.Flags().Lookup(flag) != nil {
					cobra.CheckErr(one.RegisterFlagCompletionFunc(flag, e.suggestions(by)))
				}
			}
		}
	}
}

// pathIn is the path if there are suggestions for it, or else empty.
func pathIn(args map[string]suggest, path string) string {
	if args[path] == nil {
		return ""
	}
	return path
}

// suggestions returns the function that cobra calls at the Tab key.
func (e *env) suggestions(by suggest) func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		e.find(cmd.Flags().Changed("config"))
		c, err := config.Load(e.Config, e.platforms)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(context.Background(), completeTimeout)
		defer cancel()
		return by(ctx, e.withRegistered(ctx, c)), cobra.ShellCompDirectiveNoFileComp
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

func (e *env) tokenIDs(ctx context.Context, c *config.Config) (all []string) {
	tokens, _ := operator.NewClient(operator.ControlDir(c.Layout())).Tokens(ctx)
	for _, t := range tokens {
		all = append(all, t.ID)
	}
	return all
}

func (e *env) pairingCodes(ctx context.Context, c *config.Config) (all []string) {
	people, _ := operator.NewClient(operator.ControlDir(c.Layout())).PairingCodes(ctx)
	for _, p := range people {
		all = append(all, p.Code)
	}
	return all
}

func assistantNames(_ context.Context, c *config.Config) []string {
	return slices.Sorted(maps.Keys(c.Assistants))
}

func storeNames(_ context.Context, c *config.Config) []string {
	_, names := storesCalled(c, "")
	return names
}
