package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/screen"
)

// Screen is what the operator changes of the rules for files that may not leave.
type Screen struct {
	Off  []string `yaml:"off" help:"Built-in rules that are off; longshore screen rules lists them."`
	Deny []Deny   `yaml:"deny" help:"Further rules."`
	Ask  []Deny   `yaml:"ask" help:"Rules for files that wait until a person says yes to them, instead of being refused."`
}

// Deny is a rule of the operator's. With both expressions, a file has to match both.
type Deny struct {
	Rule    string `yaml:"rule" required:"true" form:"label" help:"The rule's name, which the refusal tells."`
	Name    string `yaml:"name" help:"RE2 expression for the file's path."`
	Content string `yaml:"content" help:"RE2 expression for the file's content."`
}

// Screens returns the rules that are in force: by which files are refused, and by which they
// wait for an approval.
func (c *Config) Screens() (deny, ask *screen.Screen, err error) {
	if deny, err = screen.New(c.Screen.Off, patterns(c.Screen.Deny), secretsOf(reflect.ValueOf(c).Elem())...); err == nil {
		ask, err = screen.New(builtIn(), patterns(c.Screen.Ask))
	}
	return deny, ask, err
}

// named is what the name of a variable that holds a secret has in it. Other variables of an
// assistant's environment hold names of models, addresses and the like.
var named = later(`(?i)key|token|secret|passw|credential`)

// secretsOf returns the secrets in a part of the configuration.
func secretsOf(v reflect.Value) (all []string) {
	if secret, ok := v.Interface().(Secret); ok {
		return strings.Fields(secret.Reveal()) // a webhook may have two while one is replaced
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			all = secretsOf(v.Elem())
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.IsExported() && field.Type != reflect.TypeFor[channel.Platform]() {
				all = append(all, secretsOf(value)...)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			all = append(all, secretsOf(v.Index(i))...)
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			if v.Type() != reflect.TypeFor[map[string]Secret]() || named.matches(key.String()) {
				all = append(all, secretsOf(value)...)
			}
		}
	}
	return all
}

func patterns(rules []Deny) (all []screen.Pattern) {
	for _, d := range rules {
		all = append(all, screen.Pattern(d))
	}
	return all
}

// builtIn are the names of the built-in rules.
func builtIn() (names []string) {
	for _, r := range screen.BuiltIn() {
		names = append(names, r.Name)
	}
	return names
}

// screen checks that each name is a rule's and each expression can be used.
func (c *checker) screen() {
	for i, name := range c.cfg.Screen.Off {
		if !slices.Contains(builtIn(), name) {
			c.bad(fmt.Sprintf("screen.off[%d]", i), fmt.Sprintf("there is no rule %q", name), "longshore screen rules lists them")
		}
	}
	c.patterns("screen.deny", c.cfg.Screen.Deny)
	c.patterns("screen.ask", c.cfg.Screen.Ask)
}

func (c *checker) patterns(key string, rules []Deny) {
	if len(rules) > screen.MaxRules {
		c.bad(key, fmt.Sprintf("there are more than %d rules", screen.MaxRules), "join some: a|b")
		return
	}
	for i, d := range rules {
		if _, err := screen.New(nil, []screen.Pattern{screen.Pattern(d)}); err != nil {
			c.bad(fmt.Sprintf("%s[%d]", key, i), err.Error(), `write RE2 expressions for name, content or both, such as name: '\.sql$'`)
		}
	}
}
