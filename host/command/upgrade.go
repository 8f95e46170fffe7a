package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/media"
)

func newUpgrade(e *env) *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "upgrade --check",
		Short: "say what this program would change at its first start, and change nothing",
		Long: `upgrade --check reads the configuration and the stores with this program, while
the old host runs or not, and says which schema steps its first start would run,
what in longshore.yaml it does not accept, which stores are too new for it, and
how much disk the steps need. It changes nothing; "longshore serve" upgrades.`,
		Args: terminal.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !check {
				return terminal.Usage("no --check given", "the first start of a new program upgrades by itself; see what it would do: "+e.Command("upgrade", "--check"))
			}
			return e.checkUpgrade(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "change nothing")
	return cmd
}

// upgradePlan is the output of "upgrade --check".
type upgradePlan struct {
	Version  string         `json:"version"` // of this program
	Problems []string       `json:"problems"`
	Warnings []string       `json:"warnings"`
	Stores   []plannedStore `json:"stores"`
	Needs    int64          `json:"needs_bytes"` // more disk than the stores take now
	Free     int64          `json:"free_bytes"`
	Faults   int            `json:"faults"` // how many things keep this program from starting
}

type plannedStore struct {
	Name    string `json:"name"`
	Present bool   `json:"present"`
	Version int    `json:"version"`
	Wants   int    `json:"wants"`
	Steps   int    `json:"steps"`
	Bytes   int64  `json:"bytes"`
	Fault   string `json:"fault,omitempty"`
}

func (e *env) checkUpgrade(ctx context.Context) error {
	cfg, err := config.Load(e.Config, e.platforms)
	problems := wrongWith(cfg, err)
	if cfg == nil && len(problems) == 0 {
		return noConfig(err)
	}
	p := upgradePlan{Version: readVersion(e.version).Version, Problems: []string{}, Warnings: []string{}, Stores: []plannedStore{}, Faults: len(problems)}
	for _, problem := range problems {
		p.Problems = append(p.Problems, problem.Error())
	}
	for _, warning := range warningsOf(cfg) {
		p.Warnings = append(p.Warnings, warning.Error())
	}
	if cfg != nil {
		p.look(ctx, cfg)
	}
	if err := e.Answer(p, func() error { return e.printUpgrade(p, cfg != nil) }); err != nil {
		return err
	}
	if p.Faults > 0 {
		return &terminal.Error{Code: terminal.ExitFailed, Err: fmt.Errorf("this program would not start: %s", media.Count(p.Faults, "fault")), Hint: "correct what is shown above before you replace the old program"}
	}
	return nil
}

// look plans each store. A step changes a database in one transaction, whose log can become as large
// as the database.
func (p *upgradePlan) look(ctx context.Context, cfg *config.Config) {
	for _, s := range serve.StoresOf(cfg, true) {
		plan := store.PlanOf(ctx, s)
		one := plannedStore{Name: plan.Name, Present: plan.Present, Version: plan.Version, Wants: plan.Wants, Steps: plan.Steps(), Bytes: plan.Bytes}
		if plan.Err != nil {
			one.Fault = plan.Err.Error()
			p.Faults++
		}
		if one.Steps > 0 {
			p.Needs += one.Bytes
		}
		p.Stores = append(p.Stores, one)
	}
	if v, err := safefs.VolumeOf(cfg.State.Directory); err == nil {
		p.Free = int64(v.Free)
		if v.Total > 0 && p.Free < p.Needs {
			p.Faults++
		}
	}
}

func (e *env) printUpgrade(p upgradePlan, stores bool) error {
	for _, text := range p.Problems {
		e.Say("wrong: %s", text)
	}
	for _, text := range p.Warnings {
		e.Say("warning: %s", text)
	}
	if !stores {
		e.Say("the stores were not read: correct the configuration first")
		return nil
	}
	err := terminal.List(&e.Terminal, "", []string{"store", "on disk", "this program", "steps", "size"}, p.Stores, func(s plannedStore) []string {
		return []string{s.Name, onDisk(s), schemaText(s.Wants), fmt.Sprint(s.Steps), media.Size(s.Bytes)}
	})
	if err != nil {
		return err
	}
	for _, s := range p.Stores {
		if s.Fault != "" {
			e.Say("wrong: %s", s.Fault)
		}
	}
	e.Say("the steps need up to %s; %s are free", media.Size(p.Needs), media.Size(p.Free))
	if p.Faults == 0 {
		e.Say("next: %s; then stop the host, replace the programs, and start it", e.Command("backup", "DIRECTORY"))
	}
	return nil
}

func onDisk(s plannedStore) string {
	switch {
	case !s.Present:
		return "none yet"
	case s.Fault != "":
		return "see below"
	}
	return schemaText(s.Version)
}

// schemaText returns a schema's version, a dash for a store that a library keeps.
func schemaText(version int) string {
	if version == 0 {
		return "-"
	}
	return fmt.Sprint(version)
}
