package command

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/screen"
)

// screenRule is a rule in the output.
type screenRule struct {
	Rule string `json:"rule"`
	On   bool   `json:"on"`
	What string `json:"what"`
}

func newScreen(e *env) *cobra.Command {
	rules := terminal.Verb("rules", "list the rules by which files are kept in", func(*cobra.Command, []string) error {
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
		return e.Answer(all, func() error {
			return terminal.List(&e.Terminal, "", []string{"RULE", "STATE", "KEEPS IN"}, all, func(r screenRule) []string {
				if r.On {
					return []string{r.Rule, "on", r.What}
				}
				return []string{r.Rule, "off", r.What}
			})
		})
	})
	return terminal.Family("screen", "see which files may not leave", rules)
}
