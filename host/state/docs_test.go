package state

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/store"
)

// TestEveryTableIsInTheDocs, and the docs name no table that is gone.
func TestEveryTableIsInTheDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## The state\n")
	section, _, _ = strings.Cut(section, "\n## ")
	told := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| (`+"`"+`[^|]*)\|`).FindAllStringSubmatch(section, -1) {
		for _, name := range strings.Fields(row[1]) {
			told[strings.Trim(name, "`")] = true
		}
	}
	there := map[string]bool{}
	for _, m := range regexp.MustCompile(`CREATE TABLE (\w+)`).FindAllStringSubmatch(Spec("", store.Home{}).Schema, -1) {
		there[m[1]] = true
		if !told[m[1]] {
			t.Errorf("docs/architecture.md does not name the table %s", m[1])
		}
	}
	for name := range told {
		if !there[name] {
			t.Errorf("docs/architecture.md names the table %s, which schema.sql does not have", name)
		}
	}
	if len(there) < 30 {
		t.Errorf("only %d tables were found", len(there))
	}
}
