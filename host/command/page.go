package command

import (
	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/operator"
)

func newPage(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "page",
		Short: "print an address of the operator's page",
		Long: `page prints an address that signs one browser in to the page on which you see what
the host does and act on it. The address works once and for ten minutes; do not
pass it on. The host serves the page if operator_page.listen is set.`,
		Args: terminal.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ask(e, cmd, operator.Control.PageURL, func(page operator.PageURL) error { e.Say("%s", page.URL); return nil })
		},
	}
}
