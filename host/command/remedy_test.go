package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/e2e/stage"
)

// TestARemedyWorksAsPrintedWithAnotherConfiguration: hints of the host once named commands
// that read another configuration than the operator's.
func TestARemedyWorksAsPrintedWithAnotherConfiguration(t *testing.T) {
	e := &env{platforms: stage.AllPlatforms()}
	newRoot(e)
	e.Config, e.Named = "/srv/my host/50%.yaml", true
	for text, want := range map[string]string{
		"see: longshore status, docs/operations.md":            "see: longshore -c '/srv/my host/50%.yaml' status, docs/operations.md",
		"see: longshore queue list --all, longshore errors ls": "see: longshore -c '/srv/my host/50%.yaml' queue list --all, longshore -c '/srv/my host/50%.yaml' errors ls",
		"mend longshore.yaml, then run longshore as that user": "mend longshore.yaml, then run longshore as that user",
		"see: longshore help exit-codes":                       "see: longshore help exit-codes",
		e.Command("reload"):                                    "longshore -c '/srv/my host/50%.yaml' reload",
	} {
		if got := e.Remedy(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	var out strings.Builder
	e.Stdout = &out
	e.Say("%s; see: longshore errors list", "3 requests")
	if want := "3 requests; see: longshore -c '/srv/my host/50%.yaml' errors list\n"; out.String() != want {
		t.Errorf("said %q, want %q", out.String(), want)
	}
	if e.Named = false; e.Remedy("see: longshore status") != "see: longshore status" {
		t.Error("a configuration that every command finds is named")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "other.yaml")
	stage.ConfigIn(t, file, stage.StoresConfig)
	for _, args := range [][]string{{"reload"}, {"queue", "retry", "nothing"}, {"doctor"}, {"why", "family"}} {
		said, _ := stage.Command(t, append([]string{"-c", file}, args...)...)
		if !strings.Contains(said, "longshore -c "+file) || regexp.MustCompile(`longshore (serve|status|queue|errors|reload)\b`).MatchString(said) {
			t.Errorf("%v names a command that reads another file:\n%s", args, said)
		}
	}
}

// TestEveryCommandThatIsPrintedExists looks for "longshore VERB …" in all sources that
// speak to operators, and asks the tree of commands for it.
func TestEveryCommandThatIsPrintedExists(t *testing.T) {
	root := newRoot(&env{platforms: stage.AllPlatforms()})
	printed := regexp.MustCompile("longshore((?: [a-z][a-z-]*)+)")
	found := 0
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for line := range strings.Lines(string(source)) {
			if code, _, _ := strings.Cut(line, "//"); !strings.Contains(code, `"`) {
				continue
			}
			for _, m := range printed.FindAllStringSubmatch(line, -1) {
				words := strings.Fields(m[1])
				cmd, left, err := root.Find(words[:1])
				if err != nil || cmd == root || len(left) > 0 {
					continue // a sentence about longshore
				}
				found++
				if sub := cmd.Commands(); len(words) > 1 && len(sub) > 0 && !slices.ContainsFunc(sub, func(c *cobra.Command) bool { return c.Name() == words[1] }) && !allowedAfter(words[1]) {
					t.Errorf("%s prints %q, and there is no such command", path, "longshore "+strings.Join(words, " "))
				}
			}
		}
		return err
	})
	if err != nil || found < 50 {
		t.Errorf("%d commands found, %v", found, err)
	}
}

// allowedAfter is of the words that may follow a family's name in a sentence.
func allowedAfter(word string) bool {
	return slices.Contains([]string{"and", "or", "starts", "has", "names", "shows"}, word)
}

// TestTheKeysForProgramsAreOneStyle: "groups list --json" once had the names of Go's fields.
func TestTheKeysForProgramsAreOneStyle(t *testing.T) {
	file, _ := stage.NewStores(t)
	key := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	for _, args := range [][]string{
		{"groups", "list"}, {"status"}, {"queue", "list", "--all"}, {"errors", "list"}, {"approvals", "list"}, {"tasks", "list"}, {"config", "validate"},
		{"doctor"}, {"version"}, {"screen", "rules"}, {"audit", "search"}, {"why", "family"}, {"top"},
	} {
		out, code := stage.Command(t, append([]string{"-c", file, "--json"}, args...)...)
		var v any
		if err := json.NewDecoder(strings.NewReader(out)).Decode(&v); err != nil {
			t.Errorf("%v: exit code %d: %v: %s", args, code, err, out)
		}
		for k := range keysIn(v) {
			if !key.MatchString(k) {
				t.Errorf("%v has the key %q", args, k)
			}
		}
	}
}

func keysIn(v any) map[string]bool {
	all := map[string]bool{}
	switch v := v.(type) {
	case map[string]any:
		for k, value := range v {
			all[k] = true
			for k := range keysIn(value) {
				all[k] = true
			}
		}
	case []any:
		for _, value := range v {
			for k := range keysIn(value) {
				all[k] = true
			}
		}
	}
	return all
}
