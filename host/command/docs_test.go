package command

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/command/terminal"
)

// TestEveryCommandIsDescribed wants each command in docs/cli.md, and each of its
// flags somewhere on the page.
func TestEveryCommandIsDescribed(t *testing.T) {
	doc := stage.Read(t, "../../docs/cli.md")
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		path := c.CommandPath()
		parent, _, _ := strings.Cut(strings.TrimPrefix(path, "longshore "), " ")
		if c.Name() != "help" && parent != "completion" && c.HasParent() {
			heading := regexp.MustCompile(`(?m)^### longshore ` + regexp.QuoteMeta(parent) + `\b.*\b` + regexp.QuoteMeta(c.Name()) + `\b`)
			if parent == c.Name() {
				heading = regexp.MustCompile(`(?m)^### longshore ` + regexp.QuoteMeta(parent) + `\b`)
			}
			if !heading.MatchString(doc) && c.Runnable() {
				t.Errorf("docs/cli.md has no heading for %q", path)
			}
			if c.Short == "" {
				t.Errorf("%s has no short description", path)
			}
			c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
				if f.Name != "help" && !strings.Contains(doc, "--"+f.Name) {
					t.Errorf("docs/cli.md does not mention --%s of %q", f.Name, path)
				}
			})
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&env{Terminal: terminal.Terminal{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}, platforms: stage.AllPlatforms()}))
}

// TestEveryMetricIsDescribed wants each of our metrics in docs/operations.md.
func TestEveryMetricIsDescribed(t *testing.T) {
	doc := stage.Read(t, "../../docs/operations.md")
	names := regexp.MustCompile(`desc\("([a-z_]+)"`).FindAllStringSubmatch(stage.Read(t, "../operator/health.go"), -1)
	if len(names) < 10 {
		t.Fatalf("only %d metrics found: this test no longer sees them", len(names))
	}
	for _, m := range names {
		if !regexp.MustCompile("`longshore_" + m[1] + "[`{]").MatchString(doc) {
			t.Errorf("docs/operations.md does not describe longshore_%s", m[1])
		}
	}
}
