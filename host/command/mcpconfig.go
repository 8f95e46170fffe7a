package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/agentrunner/mcpconfig"
)

func newMCPConfig(e *env) *cobra.Command {
	var cli, command string
	cmd := &cobra.Command{
		Use:   "mcp-config --for CLI",
		Short: "print how an agent CLI starts longshore's tools",
		Long: `Prints the configuration with which an agent CLI starts the tools send_file,
send_message and so on, in the CLI's own format, to be used in the container.`,
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error {
			if cli == "" {
				return usage("no agent CLI given", "use --for with one of "+strings.Join(mcpconfig.CLIs(), ", "))
			}
			text, err := mcpconfig.For(cli, strings.Fields(command), nil)
			if err != nil {
				return usage(err.Error(), "")
			}
			if e.json {
				return e.printJSON(map[string]string{"cli": cli, "place": mcpconfig.Place(cli), "text": text})
			}
			// Where to put it goes to stderr, so that stdout can be
			// redirected into the file.
			fmt.Fprintf(e.stderr, "put this into %s\n", mcpconfig.Place(cli))
			_, err = fmt.Fprint(e.stdout, text)
			return err
		},
	}
	cmd.Flags().StringVar(&cli, "for", "", "the agent `CLI`: "+strings.Join(mcpconfig.CLIs(), ", "))
	cmd.Flags().StringVar(&command, "command", "/usr/local/bin/agentrunner mcp", "how the tools are started in the container")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(mcpconfig.CLIs(), cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}
