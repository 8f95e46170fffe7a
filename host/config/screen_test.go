package config_test

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/config"
)

func TestScreenOfTheFile(t *testing.T) {
	parse := func(text string) (*config.Config, error) {
		return config.Parse("longshore.yaml", []byte(text), func(string) string { return "" }, platforms())
	}
	cfg, err := parse(`screen: {off: [key-store], deny: [{rule: dumps, name: '\.sql$'}]}`)
	if err != nil {
		t.Fatal(err)
	}
	rules, _, err := cfg.Screens()
	if err != nil {
		t.Fatal(err)
	}
	for name, leaves := range map[string]bool{"a.sql": false, "a.kdbx": true, ".env": false} {
		if err := rules.Check(strings.NewReader("words"), 5, name); (err == nil) != leaves {
			t.Errorf("%s: %v", name, err)
		}
	}
	for text, want := range map[string]string{
		"screen: {off: [key-stores]}":                  `no rule "key-stores"`,
		"screen: {deny: [{rule: x}]}":                  "neither a name nor a content",
		"screen: {deny: [{rule: x, content: '('}]}":    "missing closing",
		"screen: {deny: [{name: x}]}":                  "rule",
		"screen: {deny: [{rule: x, contents: words}]}": "unknown key",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
