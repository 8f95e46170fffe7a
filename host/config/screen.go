package config

import (
	"fmt"
	"slices"

	"github.com/longshore-bridge/longshore/host/screen"
)

// Screen is what the operator changes of the rules for files that may not leave.
type Screen struct {
	Off  []string `yaml:"off" help:"Built-in rules that are off; longshore screen rules lists them."`
	Deny []Deny   `yaml:"deny" help:"Further rules."`
}

// Deny is a rule of the operator's. With both expressions, a file has to match both.
type Deny struct {
	Rule    string `yaml:"rule" required:"true" form:"label" help:"The rule's name, which the refusal tells."`
	Name    string `yaml:"name" help:"RE2 expression for the file's path."`
	Content string `yaml:"content" help:"RE2 expression for the file's content."`
}

// New returns the rules that are in force.
func (s Screen) New() (*screen.Screen, error) {
	var deny []screen.Pattern
	for _, d := range s.Deny {
		deny = append(deny, screen.Pattern(d))
	}
	return screen.New(s.Off, deny)
}

// screen checks that each name is a rule's and each expression can be used.
func (c *checker) screen() {
	for i, name := range c.cfg.Screen.Off {
		if !slices.ContainsFunc(screen.BuiltIn(), func(r screen.Rule) bool { return r.Name == name }) {
			c.bad(fmt.Sprintf("screen.off[%d]", i), fmt.Sprintf("there is no rule %q", name), "longshore screen rules lists them")
		}
	}
	if len(c.cfg.Screen.Deny) > screen.MaxRules {
		c.bad("screen.deny", fmt.Sprintf("there are more than %d rules", screen.MaxRules), "join some: a|b")
		return
	}
	for i, d := range c.cfg.Screen.Deny {
		if _, err := screen.New(nil, []screen.Pattern{screen.Pattern(d)}); err != nil {
			c.bad(fmt.Sprintf("screen.deny[%d]", i), err.Error(), `write RE2 expressions for name, content or both, such as name: '\.sql$'`)
		}
	}
}
