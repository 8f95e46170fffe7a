package command

import (
	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/media"
)

func newLinks(e *env) *cobra.Command {
	list := newGroupList(e, "list the links that members can follow", operator.Control.Links, e.listLinks)
	revoke := terminal.Verb("revoke ID", "end a link and delete its file", func(cmd *cobra.Command, args []string) error {
		return tell(e, cmd, operator.Control.RevokeLink, args[0], "revoked; its file is deleted")
	})
	return terminal.Family("links", "look at files that went as links, and end links", list, revoke)
}

func (e *env) listLinks(all []operator.Link) error {
	return terminal.List(&e.Terminal, "there are no links", []string{"ID", "GROUP", "FILE", "SIZE", "UNTIL"}, all, func(l operator.Link) []string {
		return []string{l.ID, l.Group, l.Name, media.Size(l.Bytes), l.Expires.Format("2006-01-02 15:04Z")}
	})
}
