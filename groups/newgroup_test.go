package groups

import (
	"os"
	"testing"

	"github.com/longshore-bridge/longshore/internal/refusal"
)

// TestAGroupNamedInAnyScriptGetsAFolder: the folder of Famille Été was famille-t, and 日本語 had none.
func TestAGroupNamedInAnyScriptGetsAFolder(t *testing.T) {
	for name, want := range map[string]string{
		"Family":                         "family",
		"Famille Été":                    "famille-ete",
		"Famille E\u0301te":              "famille-ete", // as a Mac types it
		"Straße & Ærø":                   "strasse-aero",
		"Семья":                          "semia",
		"Україна":                        "ukraina",
		"Οικογένεια":                     "oikogeneia",
		"Tiếng Việt":                     "tieng-viet",
		"Ｆａｍｉｌｙ":                         "family",
		"日本語 team":                       "team",
		"日本語":                            "group-77710aed",
		"가족":                             "group-7659575f",
		"\u1100\u1161\u110c\u1169\u11a8": "group-7659575f", // in the other form of Unicode
		"🎉":                              "group-",
		"العائلة":                        "group-",
		"":                               "",
		" ":                              "",
	} {
		got := FolderOf(name)
		if got != want && (want != "group-" || len(got) != len("group-12345678") || got[:6] != want) {
			t.Errorf("%q has the folder %q, want %q", name, got, want)
		}
		if got != "" && CheckFolder(got) != nil {
			t.Errorf("%q: %v", name, CheckFolder(got))
		}
	}
}

func TestAGroupIsNotAddedOverAnother(t *testing.T) {
	l := Layout{State: t.TempDir()}
	if err := os.MkdirAll(l.Workspace("old"), 0o755); err != nil {
		t.Fatal(err)
	}
	all := []Group{{Folder: "family", Chat: "1@g.us", Channel: "a"}}
	for name, tt := range map[string]struct {
		g        Group
		takeOver bool
		refused  bool
	}{
		"new":                      {g: Group{Folder: "new", Chat: "2@g.us"}},
		"reserved":                 {g: Group{Folder: "Global", Chat: "2@g.us"}, refused: true},
		"no folder":                {g: Group{Chat: "2@g.us"}, refused: true},
		"its folder is taken":      {g: Group{Folder: "Family", Chat: "2@g.us"}, refused: true},
		"its chat is taken":        {g: Group{Folder: "new", Chat: "1@g.us"}, refused: true},
		"of another account":       {g: Group{Folder: "new", Chat: "1@g.us", Channel: "b"}},
		"a former group's":         {g: Group{Folder: "old", Chat: "2@g.us"}, refused: true},
		"a former group's, wanted": {g: Group{Folder: "old", Chat: "2@g.us"}, takeOver: true},
	} {
		err := l.MayAdd(all, tt.g, tt.takeOver)
		if r := refusal.Of(err); (r != nil) != tt.refused || err != nil && r == nil || r != nil && (r.Code != CodeNotRegistered || r.Hint == "") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
