package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/media"
)

func newDoctor(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "look for what is wrong, without changing anything",
		Long: `Looks at the configuration, the state directory, the disk, the limits of the
kernel, the outbox, the queues, the channels and the assistants, and says of
each fault what to do about it. It only reads.

Ends with exit code 4 if it finds a fault.`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings := e.examine(cmd.Context())
			if e.json {
				if err := e.printJSON(findings); err != nil {
					return err
				}
			} else if err := e.printFindings(findings); err != nil {
				return err
			}
			if n := faults(findings); n > 0 {
				return &exitError{code: exitFailed, err: fmt.Errorf("%s found", media.Count(n, "fault"))}
			}
			return nil
		},
	}
}

// examine runs every check of the doctor. An invalid configuration is itself a
// finding; then no other check runs.
func (e *env) examine(ctx context.Context) []doctor.Finding {
	c, problems, err := e.servable()
	if err != nil {
		return []doctor.Finding{{Check: "config", Severity: doctor.Fault, Message: err.Error(), Remedy: noConfigHint(err)}}
	}
	if len(problems) == 0 {
		return doctor.Examine(ctx, c, e.config, serve.StoresOf(c, true), serve.Checks(c), e.getenv)
	}
	return doctor.FindingsOf(doctor.Fault, problems)
}

func (e *env) printFindings(findings []doctor.Finding) error {
	t := e.table()
	for _, f := range findings {
		t.row(string(f.Severity), f.Check, e.remedy(f.Message))
		if f.Remedy != "" {
			t.row(" ", " ", "to do: "+e.remedy(f.Remedy))
		}
	}
	return t.flush()
}

func faults(findings []doctor.Finding) int {
	n := 0
	for _, f := range findings {
		if f.Severity == doctor.Fault {
			n++
		}
	}
	return n
}
