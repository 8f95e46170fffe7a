package command

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/command/terminal"
)

// A shell offered files where a group, a token, a store or a person's code was wanted.
func TestAShellOfferedFilesForGroupsAndIDs(t *testing.T) {
	wanted := regexp.MustCompile(`\b(GROUP|CHANNEL|CODE|ID|NAME)\b`)
	seen := 0
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if wanted.MatchString(strings.TrimPrefix(c.Use, c.Name())) {
			if seen++; c.ValidArgsFunction == nil {
				t.Errorf("a shell suggests files for: %s", c.UseLine())
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&env{Terminal: terminal.Terminal{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}, platforms: stage.AllPlatforms()}))
	if seen < 15 {
		t.Errorf("only %d commands found: this test no longer sees them", seen)
	}
}

// TestAShellSuggestsWhatTheConfigurationNames, also while no host runs.
func TestAShellSuggestsWhatTheConfigurationNames(t *testing.T) {
	file := filepath.Join(t.TempDir(), "longshore.yaml")
	stage.Write(t, file, `state: ./state
assistants: {helper: {agent: sample}, other: {agent: sample}}
groups: [{name: Family, folder: family, chat: "web:family", assistant: helper}]
`)
	for line, want := range map[string]string{
		"why": "family", "logs": "family", "tokens new": "family", "workspace remove": "family",
		"store set-aside": "state whatsapp", "send --as": "original document", "groups add web:crew --assistant": "helper other", "queue list --group": "family",
	} {
		out, code := stage.Command(t, append([]string{"-c", file, "__complete"}, append(strings.Fields(line), "")...)...)
		if code != terminal.ExitOK || !strings.Contains(out, ":4\n") {
			t.Errorf("%s: exit code %d: %s", line, code, out)
		}
		for _, word := range strings.Fields(want) {
			if !strings.Contains("\n"+out, "\n"+word+"\n") {
				t.Errorf("%s lacks %q:\n%s", line, word, out)
			}
		}
	}
}
