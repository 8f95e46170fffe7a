package live

import (
	"cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/keys"
)

// AssistantOf returns how a group's assistant is run; zero if the group has none.
func (c *Current) AssistantOf(g groups.Group) config.Assistant {
	return c.Config().Assistants[g.Assistant]
}

// Elsewhere reports whether a group's assistant fetches its messages.
func (c *Current) Elsewhere(g groups.Group) bool {
	return c.AssistantOf(g).Runtime == config.Elsewhere
}

// SharesDirectories reports whether a group's assistant shares directories with the host.
func (c *Current) SharesDirectories(g groups.Group) bool {
	now := c.Config()
	of := now.Assistants[g.Assistant].Runtime
	return g.Assistant != "" && of != config.Elsewhere && of != config.OverSSH && !now.Alone(g)
}

// Approvers returns the folder of the group whose chat is asked for approvals; empty if only the
// operator approves.
func (c *Current) Approvers() string { return c.Config().Approval.Group }

// MayApprove reports whether a member's answer to the approvers' questions counts. The ids are those by
// which the platform vouches for the member.
func (c *Current) MayApprove(ids ...string) bool { return c.Config().Approval.May(ids...) }

// MayAsk reports whether a group's assistant may ask members for permissions.
func (c *Current) MayAsk(folder string) bool {
	g, ok := c.Registry().ByFolder(folder)
	return ok && c.AssistantOf(g).ClaudeChannel == config.ClaudePermissions
}

// ModelAccess returns which models a group's assistant may use through the host, and its budget. It is
// zero for a group that was removed, or whose assistant has its own keys.
func (c *Current) ModelAccess(folder string) (set keys.Settings) {
	now := c.Now()
	g, ok := now.Registry.ByFolder(folder)
	a := now.Config.Assistants[g.Assistant]
	if !ok || a.Keys != "proxy" {
		return set
	}
	set.Tools, set.Allow = a.ProviderTools.All, a.ProviderTools.Allow
	set.Own, set.Prices, set.Budget = a.OwnKey, now.Config.ModelPrices(), now.Config.Budget(g)
	set.Purse = now.Config.Purse(g).Folder
	for _, p := range a.Services() {
		address := cmp.Or(a.Env[p.Address].Reveal(), p.Usual)
		if u, err := keys.ParseURL(address); err == nil && !a.Env[p.Key].IsZero() {
			set.Upstreams = append(set.Upstreams, keys.Upstream{Provider: p, URL: u, Secret: a.Env[p.Key].Reveal()})
		}
	}
	return set
}

// PurseOf returns the folder of the group whose budget a group spends.
func (c *Current) PurseOf(folder string) string {
	now := c.Now()
	g, ok := now.Registry.ByFolder(folder)
	if !ok {
		return folder
	}
	return now.Config.Purse(g).Folder
}
