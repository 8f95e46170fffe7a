package command

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/longshore-bridge/longshore/agentrunner/cli"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIRECTORY",
		Short: "write the man pages, one a command",
		Long: `man writes the man pages of longshore and of agentrunner into an existing directory.
Their date is SOURCE_DATE_EPOCH, in seconds, or today.`,
		Args: exactly("DIRECTORY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			runner := &cobra.Command{Use: "agentrunner", Short: "the program in an assistant's container", Long: cli.Help()}
			for _, c := range []*cobra.Command{cmd.Root(), runner} {
				c.DisableAutoGenTag = true
				header := &doc.GenManHeader{Section: "1", Source: "Longshore", Manual: "Longshore"}
				if err := doc.GenManTree(c, header, args[0]); err != nil {
					return fmt.Errorf("write man pages: %w", err)
				}
			}
			return nil
		},
	}
}
