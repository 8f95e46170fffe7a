//go:build e2e

package telegram

import (
	"embed"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/internal/npmtest"
)

//go:embed telegramtest/testdata/telegram-node
var programs embed.FS

//go:embed testdata/cases.json
var cases []byte

var property = regexp.MustCompile(`(?m)^\s+([a-z_]+)\??: `)

// typed are the fields of interfaces in the types of grammy, each found by the line that
// begins it.
func typed(t *testing.T, source string, begins ...string) (all []string) {
	t.Helper()
	for _, begin := range begins {
		_, rest, found := strings.Cut(source, begin)
		indent := begin[:len(begin)-len(strings.TrimLeft(begin, "\n "))]
		body, _, ends := strings.Cut(rest, indent+"}")
		if !found || !ends {
			t.Fatalf("the types have no %q", begin)
		}
		for _, m := range property.FindAllStringSubmatch(body, -1) {
			all = append(all, m[1])
		}
	}
	return all
}

// TestEachFieldThatGrammyKnowsIsDecided walks types that are newer than the library's, and
// that nobody here wrote.
func TestEachFieldThatGrammyKnowsIsDecided(t *testing.T) {
	dir := filepath.Join(npmtest.Modules(t, programs, "telegramtest/testdata/telegram-node"), "@grammyjs", "types")
	var source [2]string
	for i, name := range []string{"message.d.ts", "update.d.ts"} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		source[i] = string(raw)
	}
	fields := typed(t, source[0], "\n    interface ServiceMessage ", "\n    interface CommonMessage ", "\n    interface CaptionableMessage ", "\n    interface MediaMessage ", "\nexport interface Message ")
	if all := missing(slices.Clone(fields)); len(fields) < 120 || len(all) > 0 {
		t.Errorf("of %d fields, nothing is known of %q", len(fields), all)
	}
	for _, name := range slices.Concat(strings.Fields(notes), slices.Collect(maps.Keys(ignored)), slices.Collect(maps.Keys(shown))) {
		if !slices.Contains(fields, name) {
			t.Errorf("grammy's messages have no %s", name)
		}
	}
	updates := typed(t, source[1], "\nexport interface Update ")
	for _, name := range updates {
		if name != "update_id" && !slices.Contains(heard, name) && ignoredUpdates[name] == "" {
			t.Errorf("nobody has decided about the update %s", name)
		}
	}
	for name := range ignoredUpdates {
		if !slices.Contains(updates, name) {
			t.Errorf("grammy has no update %s", name)
		}
	}
	for _, name := range typed(t, source[0], "\nexport interface ExternalReplyInfo ") {
		if name != "origin" && !slices.Contains(fields, name) {
			t.Errorf("a message elsewhere has %s, which no message has", name)
		}
	}
	var all map[string]struct{ In map[string]json.RawMessage }
	if err := json.Unmarshal(cases, &all); err != nil {
		t.Fatal(err)
	}
	for name, c := range all {
		for field := range c.In {
			if !slices.Contains(fields, field) {
				t.Errorf("the case %s has %s, which grammy does not know", name, field)
			}
		}
	}
}
