package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the flag package says of a wrong flag names it as the help does.
func TestWrongFlagsAreNamedAsTheHelpNamesThem(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"send", "--captoin", "x", "y"}, "send: there is no flag --captoin"},
		{[]string{"send", "--wait", "5", "y"}, "send: --wait takes a duration, such as 30s"},
		{[]string{"send", "y", "--name"}, "send: flag needs an argument: --name"},
	} {
		var out, err strings.Builder
		if status := Main("v1.2.3", tt.args, strings.NewReader(""), &out, &err); status != exitUsage {
			t.Errorf("%q: status %d", tt.args, status)
		}
		if !strings.Contains(err.String(), tt.want) {
			t.Errorf("%q: said %q, want %q", tt.args, err.String(), tt.want)
		}
	}
}

// A reader at a shell is sent to a command, not to a tool that it cannot call.
func TestAShellIsToldTheCommandThatAsksLater(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"messages", "results", "context"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("LONGSHORE_IPC", dir)
	var out, err strings.Builder
	if status := Main("v1.2.3", []string{"message", "hello", "--no-wait"}, strings.NewReader(""), &out, &err); status != exitQueued {
		t.Fatalf("status %d: %s", status, err.String())
	}
	if !strings.Contains(out.String(), "agentrunner status") || strings.Contains(out.String(), "delivery_status") {
		t.Errorf("said %q", out.String())
	}
}

func TestHealthSaysOnceThatThereIsNoQueue(t *testing.T) {
	t.Setenv("LONGSHORE_IPC", filepath.Join(t.TempDir(), "none"))
	var out, err strings.Builder
	if status := Main("v1.2.3", []string{"health"}, strings.NewReader(""), &out, &err); status != exitError {
		t.Errorf("status %d", status)
	}
	if all := out.String() + err.String(); strings.Count(all, "no queue") != 1 || !strings.Contains(all, "hint: ") {
		t.Errorf("said %q", all)
	}
}
