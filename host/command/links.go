package command

import (
	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/media"
)

func newLinks(e *env) *cobra.Command {
	var group string
	list := &cobra.Command{
		Use:   "list",
		Short: "list the links that members can follow",
		Args:  terminal.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := e.folderOf(&group); err != nil {
				return err
			}
			return askFor(e, cmd, operator.Control.Links, group, e.listLinks)
		},
	}
	list.Flags().StringVarP(&group, "group", "g", "", "only this group's; its `folder`, name or chat")
	revoke := &cobra.Command{
		Use:   "revoke ID",
		Short: "end a link and delete its file",
		Args:  terminal.Exactly("id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return tell(e, cmd, operator.Control.RevokeLink, args[0], "revoked; its file is deleted")
		},
	}
	return terminal.Family("links", "look at files that went as links, and end links", list, revoke)
}

func (e *env) listLinks(all []operator.Link) error {
	if len(all) == 0 {
		e.Say("there are no links")
		return nil
	}
	t := e.Table("ID", "GROUP", "FILE", "SIZE", "UNTIL")
	for _, l := range all {
		t.Row(l.ID, l.Group, l.Name, media.Size(l.Bytes), l.Expires.Format("2006-01-02 15:04Z"))
	}
	return t.Flush()
}
