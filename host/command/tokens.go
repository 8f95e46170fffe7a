package command

import (
	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/media"
)

func newTokens(e *env) *cobra.Command {
	list := &cobra.Command{
		Use:   "list",
		Short: "list the tokens that count",
		Args:  terminal.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ask(e, cmd, operator.Control.Tokens, e.listTokens)
		},
	}
	revoke := &cobra.Command{
		Use:   "revoke ID",
		Short: "end a token; what was accepted with it goes on",
		Args:  terminal.Exactly("id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return tell(e, cmd, operator.Control.RevokeToken, args[0], "revoked")
		},
	}
	return terminal.Family("tokens", "let assistants elsewhere in, and end that", list, newTokensNew(e), revoke)
}

func (e *env) listTokens(all []tokens.Token) error {
	if len(all) == 0 {
		e.Say("there are no tokens")
		return nil
	}
	t := e.Table("ID", "GROUP", "THREAD", "FROM", "MADE")
	for _, k := range all {
		t.Row(k.ID, k.Folder, media.Printable(k.Thread), k.Peer, k.Made.Format("2006-01-02 15:04Z"))
	}
	return t.Flush()
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
