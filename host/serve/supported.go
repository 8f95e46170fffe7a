package serve

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/agentrunner/cli"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/config"
)

// Unsupported returns what is valid in the configuration but cannot be done with those channels and by
// this program, in the order of the file.
func Unsupported(cfg *config.Config, channels []channel.Channel) (problems []*config.Problem) {
	bad := func(key, message, hint string) {
		problems = append(problems, cfg.Problem(key, message, hint))
	}
	for i, g := range cfg.Groups {
		if channel.Named(channels, g.Channel) == nil {
			hint := "add its channel below channels:; docs/configuration.md lists those that this version has"
			if key := g.Chat.Channel(); slices.ContainsFunc(cfg.Channels, func(c config.Channel) bool { return c.Platform.Key() == key }) {
				hint = key + " has no chat in this form: docs/configuration.md has the form, and longshore groups list --channel NAME the chats"
			}
			bad(fmt.Sprintf("groups[%d].chat", i), fmt.Sprintf("no channel that is configured carries %s", g.Chat), hint)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Assistants)) {
		if !slices.ContainsFunc(cfg.Groups, func(g groups.Group) bool { return g.Assistant == name }) {
			continue
		}
		if a := cfg.Assistants[name]; !slices.Contains(cli.Agents(), a.Agent) {
			bad("assistants."+name+".agent", fmt.Sprintf("this version does not drive %q itself", a.Agent), "use agent: command with its program, or one of "+strings.Join(cli.Agents(), ", "))
		}
	}
	slices.SortStableFunc(problems, func(a, b *config.Problem) int { return cmp.Compare(a.Line, b.Line) })
	return problems
}
