package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/operator"
)

func newChannels(e *env) *cobra.Command {
	list := terminal.Verb("list", "list the channels of the running host, and what each waits for", func(cmd *cobra.Command, _ []string) error {
		return ask(e, cmd, func(c operator.Control, ctx context.Context) ([]operator.Channel, error) {
			s, err := c.Status(ctx)
			if err == nil && !s.Running { // an empty list would mean a host without channels
				err = operator.ErrNoHost
			}
			return s.Channels, err
		}, e.listChannels)
	})
	return terminal.Family("channels", "look at the host's channels", list)
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
