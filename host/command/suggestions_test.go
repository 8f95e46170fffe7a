package command

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/command/member"
	"github.com/longshore-bridge/longshore/host/command/terminal"
)

// ideasOf is the page's own list of suggestions.
func ideasOf(t *testing.T, page string) (ideas []string) {
	t.Helper()
	list := regexp.MustCompile(`const ideas = (\[.*\]);`).FindStringSubmatch(stage.Fetch(t, page+"/assets/suggest.js"))
	if list == nil {
		t.Fatal("suggest.js has no list of ideas: this test no longer sees it")
	}
	if err := json.Unmarshal([]byte(list[1]), &ideas); err != nil {
		t.Fatal(err)
	}
	if len(ideas) < 3 {
		t.Errorf("the page suggests only %q", ideas)
	}
	return ideas
}

// TestTheDemoDidNotKnowWhatItSuggests has the sample answer each sentence that the page
// and the demo's own output suggest: with a file, whose bytes are those it wrote.
func TestTheDemoDidNotKnowWhatItSuggests(t *testing.T) {
	t.Parallel()
	var printed bytes.Buffer
	d := &demo{env: &env{Terminal: terminal.Terminal{Stdout: &printed}}}
	h := stage.StartHost(t, stage.ConfigIn(t, filepath.Join(t.TempDir(), "demo.yaml"), string(demoConfig)), nil)
	d.invite(h)
	m := member.Member{Base: strings.TrimRight(webOf(h).URL(), "/"), Chat: "family"}
	words := ideasOf(t, m.Base)
	for _, quoted := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(printed.String(), -1) {
		words = append(words, quoted[1])
	}
	if !slices.Contains(words, "send me the report") {
		t.Errorf("the demo prints\n%s", &printed)
	}
	for _, say := range words {
		asked, err := m.Say(t.Context(), say)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := m.Wait(t.Context(), asked, 0)
		if err != nil {
			t.Fatal(err)
		}
		files := 0
		for _, one := range answer {
			if one.File == nil {
				continue
			}
			files++
			if err := d.compare(t.Context(), h, m, one.File); err != nil {
				t.Errorf("%q: %v", say, err)
			}
		}
		if files == 0 {
			t.Errorf("%q is answered without a file: %q", say, answer[len(answer)-1].Text)
		}
	}
}
