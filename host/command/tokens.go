package command

import (
	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
)

func newTokens(e *env) *cobra.Command {
	list := terminal.Verb("list", "list the tokens that count", func(cmd *cobra.Command, _ []string) error {
		return ask(e, cmd, operator.Control.Tokens, e.listTokens)
	})
	revoke := terminal.Verb("revoke ID", "end a token; what was accepted with it goes on", func(cmd *cobra.Command, args []string) error {
		return tell(e, cmd, operator.Control.RevokeToken, args[0], "revoked")
	})
	return terminal.Family("tokens", "let assistants elsewhere in, and end that", list, newTokensNew(e), revoke)
}

func (e *env) listTokens(all []tokens.Token) error {
	return terminal.List(&e.Terminal, "there are no tokens", []string{"ID", "GROUP", "THREAD", "FROM", "MADE"}, all, func(k tokens.Token) []string {
		return []string{k.ID, k.Folder, k.Thread, k.Peer, k.Made.Format("2006-01-02 15:04Z")}
	})
}

func newTokensNew(e *env) *cobra.Command {
	var thread, from string
	c := &cobra.Command{
		Use:   "new GROUP",
		Short: "make a token for a conversation of a group",
		Long: `new makes a token for an assistant that shares no directory with the host, and prints it once.
Who has it sends as that group's assistant, into that conversation. The host keeps a hash of it.`,
		Args: terminal.Exactly("group"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := e.load()
			if err != nil {
				return err
			}
			g, err := findGroup(cfg, args[0])
			if err != nil {
				return err
			}
			return askFor(e, cmd, operator.Control.MakeToken, operator.TokenOrder{Group: g.Folder, Thread: thread, From: from},
				func(made tokens.NewToken) error { e.Say("%s", made.Secret); return nil })
		},
	}
	c.Flags().StringVar(&thread, "thread", "", "the platform's `id` of a thread of the chat; without it, the chat itself")
	c.Flags().StringVar(&from, "from", "", "the only IP `address` that may use it")
	return c
}
