package config

import (
	"fmt"
	"slices"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/internal/near"
)

// Approval is who is asked, beside the operator, about what waits for an approval.
type Approval struct {
	Group   string   `yaml:"group" form:"group" help:"The folder of the group in whose chat members are asked. Without it, the operator alone is."`
	Members []string `yaml:"members" help:"The platform's ids of the members whose answers count. A display name is none."`
}

// May says whether a member's answer counts. The ids are those by which the platform
// vouches for the member; empty ones are nobody's.
func (a Approval) May(ids ...string) bool {
	return slices.ContainsFunc(ids, func(id string) bool { return id != "" && slices.Contains(a.Members, id) })
}

// approval checks that somebody can answer, whom the platform knows by an id.
func (c *checker) approval() {
	a := c.cfg.Approval
	var folders []string
	for _, g := range c.cfg.Groups {
		folders = append(folders, g.Folder)
	}
	at := slices.Index(folders, a.Group)
	switch {
	case a.Group == "" && len(a.Members) == 0:
	case a.Group == "":
		c.bad("approval.members", "no chat is named in which they answer", "name a group's folder in approval.group")
	case at < 0:
		c.bad("approval.group", fmt.Sprintf("%q is no group's folder", a.Group), near.Hint(a.Group, folders, "name the folder of a group"))
	case len(a.Members) == 0:
		c.bad("approval.group", "nobody is named whose answer counts", "write the platform's ids of the members into approval.members")
	case c.cfg.Groups[at].Chat.OnPage():
		c.bad("approval.group", "the chat page knows no member by an id, so nobody's answer could count", "name a group on another channel, or leave approval out and answer by longshore approvals")
	}
	for i, id := range a.Members {
		if id == "" || slices.Contains([]string{groups.WhoAll, groups.WhoAdmins, groups.WhoSpeak}, id) {
			c.bad(fmt.Sprintf("approval.members[%d]", i), fmt.Sprintf("%q is no id of a member", id), "write the id by which the platform knows the member, as in members:")
		}
	}
}
