package command

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/screen"
)

// screenRule is a rule as the operator reads it.
type screenRule struct {
	Rule string `json:"rule"`
	On   bool   `json:"on"`
	What string `json:"what"`
}

func newScreen(e *env) *cobra.Command {
	return terminal.Family("screen", "see which files may not leave", &cobra.Command{
		Use:   "rules",
		Short: "list the rules by which files are kept in",
		Args:  terminal.Exactly(),
		RunE: func(*cobra.Command, []string) error {
			c, err := e.load()
			if err != nil {
				return err
			}
			var all []screenRule
			for _, r := range screen.BuiltIn() {
				all = append(all, screenRule{r.Name, !slices.Contains(c.Screen.Off, r.Name), r.What})
			}
			for _, d := range c.Screen.Deny {
				all = append(all, screenRule{d.Rule, true, "by longshore.yaml"})
			}
			return e.Answer(all, func() error { return e.listRules(all) })
		},
	})
}

func (e *env) listRules(all []screenRule) error {
	t := e.Table("RULE", "STATE", "KEEPS IN")
	for _, r := range all {
		state := "on"
		if !r.On {
			state = "off"
		}
		t.Row(r.Rule, state, r.What)
	}
	return t.Flush()
}
