package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// keys says of each assistant that runs in a container or on another machine where its model's
// key is, and names those that fetch their messages.
func (d Doctor) keys(context.Context) (all []finding.Finding) {
	c := d.Config
	if c == nil {
		return nil
	}
	used := map[string]bool{}
	for _, g := range c.Groups {
		used[g.Assistant] = true
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		a, who := c.Assistants[name], "the containers of assistant "+name+" get"
		if a.Runtime == config.OverSSH {
			who = "the machine of assistant " + name + " gets"
		}
		switch {
		case a.Runtime != "docker" && a.Runtime != config.OverSSH:
		case a.Keys == "proxy":
			all = append(all, finding.Well("assistant "+name, fmt.Sprintf("the host keeps the model's key of assistant %s", name)))
		case a.HasModelKey():
			all = append(all, found(finding.Key, "assistant "+name, finding.Note, who+" the model's key, and a hostile prompt can have it sent away", "set keys: proxy, unless the assistant needs what the proxy does not pass on: see docs/assistants.md")...)
		}
	}
	return append(all, elsewhere(c)...)
}

// elsewhere names the assistants that fetch their messages.
func elsewhere(c *config.Config) (all []finding.Finding) {
	groups := map[string][]string{}
	for _, g := range c.Groups {
		if c.Assistants[g.Assistant].Runtime == config.Elsewhere {
			groups[g.Assistant] = append(groups[g.Assistant], g.Folder)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		all = append(all, finding.Well("assistant "+name, fmt.Sprintf("assistant %s lives elsewhere and fetches the messages of %s at %s", name, strings.Join(groups[name], ", "), c.Remote.Listen)))
	}
	return all
}
