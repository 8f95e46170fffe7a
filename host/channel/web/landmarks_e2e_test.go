//go:build e2e

package web_test

import (
	"embed"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/internal/browsertest"
	"github.com/longshore-bridge/longshore/internal/npmtest"
)

// axe checks pages by the rules of WCAG, and is not ours.
//
//go:embed testdata/axe/*.json
var axe embed.FS

// TestAxeFindsNothingOnThePages looks at each page as it is shown, in both schemes and on
// a phone, with what a chat has and with each of its dialogs.
func TestAxeFindsNothingOnThePages(t *testing.T) {
	script, err := os.ReadFile(filepath.Join(npmtest.Modules(t, axe, "testdata/axe"), "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	b := browsertest.Start(t)
	check := func(p *browsertest.Tab, what string) {
		var found []string
		p.Eval(string(script)+`; axe.run().then((r) => r.violations.map((v) => v.impact + " " + v.id + ": " + v.nodes.map((n) => n.html.slice(0, 120)).join(" | ")))`, &found)
		for _, f := range found {
			t.Errorf("%s: %s", what, f)
		}
	}
	s := start(t, options(t.TempDir()))
	for name, view := range map[string]browsertest.Screen{"light": desk, "dark": {Width: 1200, Height: 820, Dark: true}, "phone": phone} {
		p := b.Open(s.at("/"), view)
		p.Wait(`document.querySelectorAll(".chatlist a").length === 2`)
		check(p, name+", chats")
		p = s.page(b, "/c/work", view)
		p.Wait(`document.querySelector(".ideas button")`)
		check(p, name+", an empty chat")
	}
	talk(s)
	s.ask(false, "Monday", "Tuesday")
	mine := s.say("And thanks")
	edit := to(mine.ID)
	edit.Emoji = "👍"
	s.must(s.React(t.Context(), edit))
	s.Typing(t.Context(), "web:family", "", true)
	for name, view := range map[string]browsertest.Screen{"light": desk, "dark": {Width: 1200, Height: 820, Dark: true}, "phone": phone} {
		p := b.Open(s.at("/c/family"), view)
		p.Wait(`document.querySelectorAll("#messages .msg").length === 10 && !document.getElementById("stop").hidden`)
		check(p, name+", a chat")
		for _, open := range []string{of(mine.ID) + `.querySelector(".more")`, `document.getElementById("who")`} {
			p.Eval(open+`.click()`, nil)
			p.Wait(`document.querySelector("dialog[open]")`)
			check(p, name+", the dialog of "+open)
			p.Eval(`document.querySelector("dialog[open]").close()`, nil)
		}
	}
}

// TestAScreenReaderFindsTheMessagesAsAListInTheLog reads the tree that Chromium gives a
// screen reader.
func TestAScreenReaderFindsTheMessagesAsAListInTheLog(t *testing.T) {
	s := start(t, options(t.TempDir()))
	s.say("one")
	s.send(channel.Message{Text: "two"})
	p := s.page(browsertest.Start(t), "/c/family", desk)
	p.Wait(`document.querySelectorAll("#messages .msg").length === 2`)
	type node struct {
		NodeID, ParentID string
		Ignored          bool
		Role             struct{ Value string }
	}
	var tree struct{ Nodes []node }
	p.Get("Accessibility.getFullAXTree", nil, &tree)
	by := map[string]node{}
	for _, n := range tree.Nodes {
		by[n.NodeID] = n
	}
	var messages [][]string
	composed := false
	for _, n := range tree.Nodes {
		var roles []string // of n and what is around it, as a reader hears it
		for at, ok := n, true; ok; at, ok = by[at.ParentID] {
			if r := at.Role.Value; !at.Ignored && r != "generic" && r != "none" {
				roles = append(roles, r)
			}
		}
		switch {
		case n.Role.Value == "listitem" && !n.Ignored && len(roles) > 3 && roles[2] == "log":
			messages = append(messages, roles)
		case n.Role.Value == "textbox" && !n.Ignored:
			composed = composed || slices.Contains(roles, "main")
		}
	}
	item := []string{"listitem", "list", "log", "region", "main", "RootWebArea"}
	if diff := cmp.Diff([][]string{item, item, item}, messages); diff != "" { // a day and two messages
		t.Error(diff)
	}
	if !composed {
		t.Error("the composer stands in no landmark")
	}
}
