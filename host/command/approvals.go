package command

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/media"
)

func newApprovals(e *env) *cobra.Command {
	decide := func(yes bool) func(operator.Control, context.Context, string) error {
		return func(c operator.Control, ctx context.Context, id string) error { return c.Decide(ctx, id, yes) }
	}
	return terminal.Family("approvals", "look at what waits for a yes before it is sent, and answer",
		newList(e, "list what waits for an approval", &operator.Filter{Waiting: true}, e.listApprovals),
		newShow(e, "one of them with its files"),
		newAct(e, "yes", "send it, behind what waits for its chat", "approved", decide(true)),
		newAct(e, "no", "refuse it, and delete its bytes", "refused", decide(false)))
}

func (e *env) listApprovals(items []operator.Item) error {
	err := terminal.List(&e.Terminal, "nothing waits for an approval", []string{"ID", "GROUP", "CHAT", "SIZE", "SINCE", "WHAT"}, items, func(i operator.Item) []string {
		return []string{shortID(i), i.Group, i.Chat, media.Size(i.Bytes), terminal.Ago(i.Created), contents(i)}
	})
	if err != nil || len(items) == 0 {
		return err
	}
	e.Say("")
	for _, i := range items {
		e.Say("%s: %s", shortID(i), i.Message)
	}
	return nil
}

// contents returns the names of an item's files, or its text if it has no files.
func contents(i operator.Item) string {
	names := strings.Join(i.Names, ", ")
	if more := i.Files - len(i.Names); more > 0 && names != "" {
		names += fmt.Sprintf(" and %d more", more)
	}
	return cmp.Or(names, i.Text)
}
