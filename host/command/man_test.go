package command

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/command/terminal"
)

// TestAManPageSaysWhatTheHelpSays, for a date that the environment gives, and for both programs.
func TestAManPageSaysWhatTheHelpSays(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	dir := t.TempDir()
	var out bytes.Buffer
	e := &env{Terminal: terminal.Terminal{Stdout: &out, Stderr: &out}, platforms: stage.AllPlatforms(), getenv: func(string) string { return "" }}
	if code := e.run(t.Context(), []string{"man", dir}); code != terminal.ExitOK {
		t.Fatalf("man ends with %d: %s", code, &out)
	}
	for name, parts := range map[string][]string{
		"longshore.1":            {`.TH "LONGSHORE" "1" "Nov 2023"`, "longshore\\-queue(1)", `\-\-version`},
		"longshore-send.1":       {"longshore\\-send \\- send a file", ".SH OPTIONS\n", `\-\-caption text`, ".SH OPTIONS OF EVERY COMMAND\n", `\-\-json`, "longshore(1)"},
		"longshore-queue-list.1": {"longshore\\-queue(1)"},
		"agentrunner.1":          {"\n  react ID EMOJI    react to a message"},
	} {
		page := stage.Read(t, filepath.Join(dir, name))
		for _, part := range parts {
			if !strings.Contains(page, part) {
				t.Errorf("%s lacks %q:\n%s", name, part, page)
			}
		}
		for line := range strings.Lines(page) {
			if request, _, _ := strings.Cut(strings.TrimSpace(line), " "); line[0] == '\'' || line[0] == '.' && !strings.Contains(".nh .TH .SH .nf .fi", request) {
				t.Errorf("%s has the request %q", name, line)
			}
		}
	}
	if got, want := roff(".a\n'b\n\\c -d"), "\\&.a\n\\&'b\n\\ec \\-d"; got != want {
		t.Errorf("roff writes %q, want %q", got, want)
	}
}
