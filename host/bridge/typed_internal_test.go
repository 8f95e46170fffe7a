package bridge

import (
	"strings"
	"testing"
)

func TestTypedAnswersToApprovals(t *testing.T) {
	id := strings.Repeat("0a", 16)
	for text, want := range map[string]string{
		"yes " + id: "yes", " YES\t" + strings.ToUpper(id) + " \n": "yes", "no " + id: "no",
		"yes": "", id: "", "yes " + id[1:]: "", "yes " + id + "0": "", "maybe " + id: "", "yes yes " + id: "", "yes " + id + " no": "",
		"yes " + strings.Repeat("g", 32): "", "yes " + strings.Repeat(" ", 100) + id: "", "": "",
	} {
		got, yes, ok := typedAnswer(text)
		answer := map[bool]string{true: "yes", false: "no"}[yes]
		if !ok {
			answer = ""
		}
		if answer != want || ok && got != id {
			t.Errorf("%q: %s %q, want %q", text, answer, got, want)
		}
	}
}

func FuzzTypedAnswer(f *testing.F) {
	f.Add("yes " + strings.Repeat("0a", 16))
	f.Add("no\u00a0" + strings.Repeat("f", 32))
	f.Add("YE\u017f " + strings.Repeat("1", 32)) // a letter that folds to s
	f.Fuzz(func(t *testing.T, text string) {
		id, yes, ok := typedAnswer(text)
		if !ok {
			if id != "" || yes {
				t.Errorf("%q is no answer and has %q, %v", text, id, yes)
			}
			return
		}
		word, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(text)), " ")
		if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" || yes != strings.HasPrefix(word, "yes") {
			t.Errorf("%q: %q, %v", text, id, yes)
		}
	})
}
