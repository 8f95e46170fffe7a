package command

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/media"
)

func newNotify(e *env) *cobra.Command {
	return terminal.Family("notify", "be told of lasting faults", newNotifyTest(e))
}

func newNotifyTest(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "test",
		Short: "tell each target of notify: that this is a test",
		Long: `test has the running host tell the chat, the webhook and the ntfy topic below notify:
in longshore.yaml that this is a test, and prints what each answered.`,
		Args: terminal.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.withControl(cmd.Context(), func(c operator.Control) error {
				all, err := c.NotifyTest(cmd.Context())
				switch {
				case err != nil:
					return err
				case len(all) == 0:
					return terminal.Hinted(errors.New("longshore.yaml names nobody who is told of faults"), "add group, webhook or ntfy below notify:, then: longshore reload")
				}
				return e.printNotified(all)
			})
		},
	}
}

// printNotified prints what each target answered. It returns an error if one did not take the test.
func (e *env) printNotified(all []operator.Notified) error {
	err := e.Answer(all, func() error {
		for _, n := range all {
			e.Say("%s: %s", n.Target, cmp.Or(n.Error, "taken"))
		}
		return nil
	})
	failed := 0
	for _, n := range all {
		if n.Error != "" {
			failed++
		}
	}
	if err == nil && failed > 0 {
		err = &terminal.Error{Code: terminal.ExitFailed, Err: fmt.Errorf("%s did not take the test", media.Count(failed, "target")), Hint: "correct notify: in longshore.yaml, then: longshore reload"}
	}
	return err
}
