package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/cluster"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/finding"
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
			var findings []finding.Finding
			if fix {
				findings = e.fix()
			}
			findings = append(findings, e.examine(cmd.Context())...)
			if probe {
				findings = append(findings, e.probe(cmd.Context())...)
			}
			findings = slices.DeleteFunc(findings, func(f finding.Finding) bool { return f.Severity == finding.Unseen }) // they say nothing
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
func (e *env) fix() (findings []finding.Finding) {
	c, problems, err := e.servable()
	if err != nil || len(problems) > 0 {
		return nil
	}
	done, err := doctor.Fix(c, e.Config, serve.StoresOf(c, true))
	for _, said := range done {
		findings = append(findings, finding.Well("fixed", said))
	}
	if err != nil {
		findings = append(findings, finding.Finding{Name: finding.Fixed, Part: "fixed", Severity: finding.Fault, Cause: err.Error(), Remedy: terminal.AsOwner})
	}
	return findings
}

// probe tries the key of each assistant that a group has.
func (e *env) probe(ctx context.Context) (findings []finding.Finding) {
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

// examine returns what the doctor finds. If the configuration is invalid and no host runs, that is all.
func (e *env) examine(ctx context.Context) []finding.Finding {
	c, problems, err := e.servable()
	if err != nil {
		if all := e.ofLastGood(ctx); len(all) > 0 {
			return all
		}
		return []finding.Finding{{Name: finding.Invalid, Part: "configuration", Severity: finding.Fault, Cause: err.Error(), Remedy: noConfigHint(err)}}
	}
	if len(problems) > 0 {
		return ofBoth(problems, e.ofLastGood(ctx))
	}
	var known serve.Known
	var who []finding.Finding
	health := operator.NewClient(operator.ControlDir(c.Layout())).Health(ctx)
	if errors.Is(health, operator.ErrNoHost) {
		if hidden := e.unasked(c.Layout(), health); hidden.Name != finding.Host {
			return []finding.Finding{hidden}
		}
		short, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		known, _ = serve.Knows(short, c, store.Look) // the doctor says why the state cannot be read
		c = e.withRegistered(c, known)
		if c.Cluster.Name != "" { // the doctor says why the database does not answer
			_ = e.withCluster(short, func(_ context.Context, _ *pgx.Conn, v cluster.View) error {
				who = append(who, v.Who())
				return nil
			})
		}
	}
	return append(doctor.Of(c, serve.StoresOf(c, true), known.Served, serve.Checks(c), e.getenv).Ask(ctx, health), who...)
}

// askTime is how long the doctor of a stopped host asks the state's server before it looks at the rest.
const askTime = 2 * time.Second

// ofBoth returns the problems of a file, in the words of the running host if it knows that the file is invalid.
func ofBoth(problems []*config.Problem, running []finding.Finding) []finding.Finding {
	if slices.ContainsFunc(running, func(f finding.Finding) bool { return f.Name == finding.Invalid || f.Name == finding.Config }) {
		return running
	}
	return finding.Merge(doctor.Invalid(finding.Invalid, finding.Fault, problems), running)
}

// ofLastGood returns the findings of a running host whose file is invalid now.
func (e *env) ofLastGood(ctx context.Context) (all []finding.Finding) {
	all, _ = operator.NewClient(operator.ControlDir(e.lastLayout())).Findings(ctx, true) // without a host there are none
	return all
}

func (e *env) printFindings(findings []finding.Finding) error {
	return e.printMarked(findings, func(f finding.Finding) string { return string(f.Severity) })
}

// printMarked prints findings, each with its mark and what to do.
func (e *env) printMarked(all []finding.Finding, mark func(finding.Finding) string) error {
	t := e.Table()
	for _, f := range all {
		t.Row(mark(f), f.Part, e.Remedy(f.Cause))
		if f.Remedy != "" && f.Severity != finding.Fine {
			t.Row(" ", " ", "to do: "+e.Remedy(f.Remedy))
		}
	}
	return t.Flush()
}

func faults(findings []finding.Finding) (n int) {
	for _, f := range findings {
		if f.Severity == finding.Fault {
			n++
		}
	}
	return n
}
