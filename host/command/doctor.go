package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/media"
)

func newDoctor(e *env) *cobra.Command {
	var fix, probe bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "look for what is wrong, without changing anything",
		Long: `Looks at the configuration, the state directory, the disk, the limits of the
kernel, the outbox, the queues, the channels and the assistants, and says of
each fault what to do about it. It only reads.

With --fix it first mends what needs no decision: it closes the configuration and the
private parts of the state directory to others, and says what it did. With --probe it
asks the service of each assistant's model whether it takes the key and has the model;
that costs nothing.

Ends with exit code 4 if it finds a fault.`,
		Args: terminal.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var findings []doctor.Finding
			if fix {
				findings = e.fix()
			}
			findings = append(findings, e.examine(cmd.Context())...)
			if probe {
				findings = append(findings, e.probe(cmd.Context())...)
			}
			if err := e.Answer(findings, func() error { return e.printFindings(findings) }); err != nil {
				return err
			}
			if n := faults(findings); n > 0 {
				return &terminal.Error{Code: terminal.ExitFailed, Err: fmt.Errorf("%s found", media.Count(n, "fault"))}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&fix, "fix", false, "first mend what needs no decision")
	cmd.Flags().BoolVar(&probe, "probe", false, "try each assistant's key at its service")
	return cmd
}

// fix mends what it can and returns a finding for each thing it mended. It leaves an invalid
// configuration to examine.
func (e *env) fix() (findings []doctor.Finding) {
	c, problems, err := e.servable()
	if err != nil || len(problems) > 0 {
		return nil
	}
	done, err := doctor.Fix(c, e.Config, serve.StoresOf(c, true))
	for _, said := range done {
		findings = append(findings, doctor.Finding{Check: "fixed", Severity: doctor.Fine, Message: said})
	}
	if err != nil {
		findings = append(findings, doctor.Finding{Check: "fixed", Severity: doctor.Fault, Message: err.Error(), Remedy: terminal.AsOwner})
	}
	return findings
}

// probe tries the key of each assistant that a group has.
func (e *env) probe(ctx context.Context) (findings []doctor.Finding) {
	c, problems, err := e.servable()
	if err != nil || len(problems) > 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(c.Assistants)) {
		if slices.ContainsFunc(c.Groups, func(g groups.Group) bool { return g.Assistant == name }) {
			findings = append(findings, doctor.Probe(ctx, name, c.Assistants[name]))
		}
	}
	return findings
}

// examine runs every check of the doctor. If the configuration is invalid, that is the only finding.
func (e *env) examine(ctx context.Context) []doctor.Finding {
	c, problems, err := e.servable()
	if err != nil {
		return []doctor.Finding{{Check: "config", Severity: doctor.Fault, Message: err.Error(), Remedy: noConfigHint(err)}}
	}
	if len(problems) == 0 {
		known, err := serve.Knows(ctx, c, store.Look)
		c = e.withRegistered(c, known)
		var findings []doctor.Finding
		if err != nil {
			findings = append(findings, doctor.Finding{Check: "groups", Severity: doctor.Fault, Message: unknown(err), Remedy: remedyOf(err)})
		}
		return append(findings, doctor.Examine(ctx, c, e.Config, serve.StoresOf(c, true), known.Served, serve.Checks(c), e.getenv)...)
	}
	return doctor.FindingsOf(doctor.Fault, problems)
}

// remedyOf is what an error of a store says to do.
func remedyOf(err error) string {
	if e, ok := errors.AsType[*store.Error](err); ok {
		return e.Remedy
	}
	return terminal.AsOwner
}

func (e *env) printFindings(findings []doctor.Finding) error {
	t := e.Table()
	for _, f := range findings {
		t.Row(string(f.Severity), f.Check, e.Remedy(f.Message))
		if f.Remedy != "" {
			t.Row(" ", " ", "to do: "+e.Remedy(f.Remedy))
		}
	}
	return t.Flush()
}

func faults(findings []doctor.Finding) (n int) {
	for _, f := range findings {
		if f.Severity == doctor.Fault {
			n++
		}
	}
	return n
}
