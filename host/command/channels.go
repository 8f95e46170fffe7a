package command

import (
	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/operator"
)

func newChannels(e *env) *cobra.Command {
	return terminal.Family("channels", "look at the host's channels", &cobra.Command{
		Use:   "list",
		Short: "list the channels of the running host, and what each waits for",
		Args:  terminal.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.withControl(cmd.Context(), func(c operator.Control) error {
				s, err := c.Status(cmd.Context())
				if err != nil {
					return err
				}
				if !s.Running { // a list without channels would be read as a host without any
					return operator.ErrNoHost
				}
				return e.Answer(s.Channels, func() error { return e.listChannels(s.Channels) })
			})
		},
	})
}

func (e *env) listChannels(all []operator.Channel) error {
	if len(all) == 0 {
		e.Say("no channel is configured")
		return nil
	}
	t := e.Table("CHANNEL", "CONNECTED", "DETAIL")
	t.Columns = 0 // the detail ends with what to do
	for _, c := range all {
		connected := "no"
		if c.Connected {
			connected = "yes"
		}
		t.Row(c.Name, connected, e.Remedy(c.Detail))
	}
	return t.Flush()
}
