package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
)

func TestAddGroupLeavesEverythingElseAsItIs(t *testing.T) {
	const added = "- name: \"The \\\"Crew\\\"\"\n  folder: \"crew\"\n  chat: \"1203@g.us\"\n"
	in := func(indent string) string {
		return indent + strings.ReplaceAll(strings.TrimSuffix(added, "\n"), "\n", "\n"+indent) + "\n"
	}
	whatsapp := "channels: {web: , whatsapp: }\n"
	for name, c := range map[string]struct{ before, after string }{
		"no groups yet":       {whatsapp, whatsapp + "groups:\n" + in("  ")},
		"an empty list":       {whatsapp + "groups:\nname: Bo\n", whatsapp + "groups:\n" + in("  ") + "name: Bo\n"},
		"at the end":          {whatsapp + "groups:\n  - folder: a\n    chat: web:a # ours\n", whatsapp + "groups:\n  - folder: a\n    chat: web:a # ours\n" + in("  ")},
		"no line's end":       {whatsapp + "groups:\n- folder: a\n  chat: web:a", whatsapp + "groups:\n- folder: a\n  chat: web:a\n" + in("")},
		"keys behind it":      {whatsapp + "groups:\n    - {folder: a, chat: \"web:a\"}\n\n# the rest\nname: Bo\n", whatsapp + "groups:\n    - {folder: a, chat: \"web:a\"}\n" + in("    ") + "\n# the rest\nname: Bo\n"},
		"comments at the end": {whatsapp + "groups:\n  - {folder: a, chat: \"web:a\"}\n  # - {folder: b}\n", whatsapp + "groups:\n  - {folder: a, chat: \"web:a\"}\n" + in("  ") + "  # - {folder: b}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := config.AddGroup([]byte(c.before), groups.Group{Name: `The "Crew"`, Folder: "crew", Chat: "1203@g.us"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.after, string(got)); diff != "" {
				t.Error(diff)
			}
			cfg, err := config.Parse(filepath.Join(t.TempDir(), "longshore.yaml"), got, func(string) string { return "" }, platforms())
			if err != nil {
				t.Fatal(err)
			}
			last := cfg.Groups[len(cfg.Groups)-1]
			if last.Name != `The "Crew"` || last.Folder != "crew" || last.Chat != "1203@g.us" {
				t.Errorf("read back as %+v", last)
			}
		})
	}
}

// TestAddGroupKeepsCommentsWhereTheyBelong: what stands below the last group, indented
// like its keys, is that group's.
func TestAddGroupKeepsCommentsWhereTheyBelong(t *testing.T) {
	const head = "channels: {web: }\n"
	const added = "  - folder: \"crew\"\n    chat: \"web:crew\"\n"
	crlf := func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }
	for name, c := range map[string]struct{ before, after string }{
		"above and beside":       {head + "# who\ngroups: # ours\n  # first\n  - folder: a # the first\n    chat: web:a\n", head + "# who\ngroups: # ours\n  # first\n  - folder: a # the first\n    chat: web:a\n" + added},
		"a key that is left out": {head + "groups:\n  - folder: a\n    chat: web:a\n    # trigger: Bo\n\n# the rest\nname: Bo\n", head + "groups:\n  - folder: a\n    chat: web:a\n    # trigger: Bo\n" + added + "\n# the rest\nname: Bo\n"},
		"a text of lines":        {head + "groups:\n  - folder: a\n    chat: web:a\n    name: >-\n      A\n      # B\n", head + "groups:\n  - folder: a\n    chat: web:a\n    name: >-\n      A\n      # B\n" + added},
		"empty brackets":         {head + "groups: [] # none yet\nname: Bo\n", head + "groups: # none yet\n" + added + "name: Bo\n"},
		"lines of Windows":       {crlf(head + "groups:\n  - folder: a\n    chat: web:a\n"), crlf(head + "groups:\n  - folder: a\n    chat: web:a\n" + added)},
		"no end, of Windows":     {crlf(head+"groups:\n  - folder: a\n") + "    chat: web:a", crlf(head + "groups:\n  - folder: a\n    chat: web:a\n" + added)},
		"a mark of the end":      {head + "groups:\n  - folder: a\n    chat: web:a\n...\n", head + "groups:\n  - folder: a\n    chat: web:a\n" + added + "...\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := config.AddGroup([]byte(c.before), groups.Group{Folder: "crew", Chat: "web:crew"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.after, string(got)); diff != "" {
				t.Error(diff)
			}
			cfg, err := config.Parse(filepath.Join(t.TempDir(), "longshore.yaml"), got, func(string) string { return "" }, platforms())
			if err != nil {
				t.Fatal(err)
			}
			if last := cfg.Groups[len(cfg.Groups)-1]; last.Folder != "crew" {
				t.Errorf("read back as %+v", last)
			}
		})
	}
}

func TestAddGroupToTheExample(t *testing.T) {
	got, err := config.AddGroup(config.Example(), groups.Group{Folder: "crew", Chat: "web:crew", Trigger: "@Andy"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := config.Parse(filepath.Join(t.TempDir(), "longshore.yaml"), got, func(string) string { return "" }, platforms()); err != nil {
		t.Error(err)
	}
}

func TestAddGroupSaysWhereItCannot(t *testing.T) {
	for _, text := range []string{"groups: [{folder: a, chat: \"web:a\"}]\n", "groups: none\n", "groups: [\n"} {
		if _, err := config.AddGroup([]byte(text), groups.Group{Folder: "b"}); err == nil {
			t.Errorf("added to %q", text)
		}
	}
}
