package command

import (
	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/media"
)

func newTokens(e *env) *cobra.Command {
	list := &cobra.Command{
		Use:   "list",
		Short: "list the tokens that count",
		Args:  terminal.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.withControl(cmd.Context(), func(c operator.Control) error {
				all, err := c.Tokens(cmd.Context())
				if err != nil {
					return ofControl(err)
				}
				return e.Answer(all, func() error {
					if len(all) == 0 {
						e.Say("there are no tokens")
						return nil
					}
					t := e.Table("ID", "GROUP", "THREAD", "FROM", "MADE")
					for _, k := range all {
						t.Row(k.ID, k.Folder, media.Printable(k.Thread), k.Peer, k.Made.Format("2006-01-02 15:04Z"))
					}
					return t.Flush()
				})
			})
		},
	}
	revoke := &cobra.Command{
		Use:   "revoke ID",
		Short: "end a token; what was accepted with it goes on",
		Args:  terminal.Exactly("id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.withControl(cmd.Context(), func(c operator.Control) error {
				if err := c.RevokeToken(cmd.Context(), args[0]); err != nil {
					return ofControl(err)
				}
				return e.Answer(struct{}{}, func() error { e.Say("revoked"); return nil })
			})
		},
	}
	return terminal.Family("tokens", "let assistants elsewhere in, and end that", list, newTokensNew(e), revoke)
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
			return e.withControl(cmd.Context(), func(c operator.Control) error {
				made, err := c.MakeToken(cmd.Context(), operator.TokenOrder{Group: g.Folder, Thread: thread, From: from})
				if err != nil {
					return ofControl(err)
				}
				return e.Answer(made, func() error { e.Say("%s", made.Secret); return nil })
			})
		},
	}
	c.Flags().StringVar(&thread, "thread", "", "the platform's `id` of a thread of the chat; without it, the chat itself")
	c.Flags().StringVar(&from, "from", "", "the only IP `address` that may use it")
	return c
}
