package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/agentrunner/mcpconfig"
	"github.com/longshore-bridge/longshore/host/command/terminal"
)

func newMCPConfig(e *env) *cobra.Command {
	var cli, command, transport, address string
	cmd := &cobra.Command{
		Use:   "mcp-config --for CLI",
		Short: "print how an agent CLI starts longshore's tools",
		Long: `Prints the configuration with which an agent CLI starts the tools send_file,
send_message and so on, in the CLI's own format, to be used in the container.
With --transport http, the CLI reaches them at the host's remote server instead, with the
token in its environment as LONGSHORE_TOKEN.`,
		Args: terminal.Exactly(),
		RunE: func(*cobra.Command, []string) error {
			if cli == "" {
				return terminal.Usage("no agent CLI given", "use --for with one of "+strings.Join(mcpconfig.CLIs(), ", "))
			}
			var text string
			var err error
			place := mcpconfig.Place(cli)
			switch transport {
			case "stdio":
				text, err = mcpconfig.For(cli, strings.Fields(command), nil)
			case "http":
				place = mcpconfig.PlaceHTTP(cli)
				text, err = mcpconfig.ForHTTP(cli, address)
			default:
				err = fmt.Errorf("there is no transport %q; use stdio or http", transport)
			}
			if err != nil {
				return terminal.Usage(err.Error(), "")
			}
			if e.JSON {
				return e.PrintJSON(map[string]string{"cli": cli, "place": place, "text": text})
			}
			fmt.Fprintf(e.Stderr, "put this into %s\n", place) // stdout may be redirected into that file
			_, err = fmt.Fprint(e.Stdout, text)
			return err
		},
	}
	cmd.Flags().StringVar(&cli, "for", "", "the agent `CLI`: "+strings.Join(mcpconfig.CLIs(), ", ")+"; with http also inspector")
	cmd.Flags().StringVar(&command, "command", "/usr/local/bin/agentrunner mcp", "how the tools are started in the container")
	cmd.Flags().StringVar(&transport, "transport", "stdio", "stdio, a program beside the CLI; or http, the host's remote server")
	cmd.Flags().StringVar(&address, "url", "http://127.0.0.1:8430", "with http: the `ADDRESS` at which the CLI reaches the remote server")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(mcpconfig.HTTPClients(), cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}
