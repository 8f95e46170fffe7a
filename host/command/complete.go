package command

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/live"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/host/tasks"
)

// completeTimeout is how long a shell waits for the host's ids.
const completeTimeout = 2 * time.Second

// suggest returns the words that may stand at a place of the command line; none after an error.
type suggest func(ctx context.Context, c *config.Config) []string

// complete registers the suggestions of groups, channels, ids and names with cobra. Those for
// arguments are found by the command's path, or by its family's.
func (e *env) complete(root *cobra.Command) {
	args := map[string]suggest{
		"why": groupNames, "logs": groupNames, "workspace remove": groupNames, "tokens new": groupNames,
		"pair": channelNames, "unpair": channelNames, "store set-aside": storeNames,
		"queue": itemIDs(operator.Filter{}), "errors": itemIDs(operator.Filter{Failed: true}), "approvals": itemIDs(operator.Filter{Waiting: true}),
		"tasks":          fromHost(ofAll(operator.Control.Tasks, ""), func(t tasks.Task) string { return t.ID }),
		"links":          fromHost(ofAll(operator.Control.Links, ""), func(l operator.Link) string { return l.ID }),
		"tokens revoke":  fromHost(operator.Control.Tokens, func(t tokens.Token) string { return t.ID }),
		"groups approve": fromHost(operator.Control.PairingCodes, func(p operator.PairingCode) string { return p.Code }),
	}
	flags := map[string]suggest{"group": groupNames, "channel": channelNames, "assistant": assistantNames}
	for _, cmd := range root.Commands() {
		all := append(cmd.Commands(), cmd)
		for _, one := range all {
			path := strings.TrimPrefix(one.CommandPath(), root.Name()+" ")
			by := args[path]
			if by == nil {
				by = args[cmd.Name()]
			}
			if by != nil && one.Name() != "list" && (one != cmd || len(all) == 1) {
				one.ValidArgsFunction = e.suggestions(by)
			}
			for flag, by := range flags {
				if one.Flags().Lookup(flag) != nil {
					cobra.CheckErr(one.RegisterFlagCompletionFunc(flag, e.suggestions(by)))
				}
			}
		}
	}
}

// suggestions returns the function that cobra calls when the Tab key is pressed.
func (e *env) suggestions(by suggest) func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		e.find(cmd.Flags().Changed("config"))
		c, err := config.Load(e.Config, e.platforms)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(context.Background(), completeTimeout)
		defer cancel()
		known, _ := serve.Knows(ctx, c, store.Glance)
		return by(ctx, e.withRegistered(c, known)), cobra.ShellCompDirectiveNoFileComp
	}
}

// fromHost suggests what the running host lists, by the word that of returns for each.
func fromHost[T any](list func(operator.Control, context.Context) ([]T, error), of func(T) string) suggest {
	return func(ctx context.Context, c *config.Config) (words []string) {
		all, _ := list(operator.NewClient(operator.ControlDir(c.Layout())), ctx)
		for _, one := range all {
			words = append(words, of(one))
		}
		return words
	}
}

// ofAll makes a list that takes an argument one without.
func ofAll[In, T any](list func(operator.Control, context.Context, In) ([]T, error), in In) func(operator.Control, context.Context) ([]T, error) {
	return func(c operator.Control, ctx context.Context) ([]T, error) { return list(c, ctx, in) }
}

func itemIDs(f operator.Filter) suggest {
	f.Limit = 100
	return fromHost(ofAll(operator.Control.List, f), shortID)
}

func groupNames(_ context.Context, c *config.Config) []string { return live.Folders(c) }

func channelNames(_ context.Context, c *config.Config) (all []string) {
	for _, one := range c.Channels {
		all = append(all, one.Name)
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
