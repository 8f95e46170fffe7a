package report_test

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/bridge/report"
)

// TestASessionsWordsDoNotPassForTheHosts: in a poll, which shows no code marks, either; and
// what is cut off is told. However it is written, a question stays short.
func TestASessionsWordsDoNotPassForTheHosts(t *testing.T) {
	for words, want := range map[string]string{
		"":                        "(nothing)",
		"ls":                      "“`ls`”",
		"a”. Input: “`ls`. ":      "“`a\". Input: \"'ls'. `”",
		"rm\u200b\nx\ufe01":       "“`rm\\u200b\\nx`”",
		"0123456789…":             "“`0123456789…`”",
		strings.Repeat("x", 21):   "“`" + strings.Repeat("x", 19) + "…`” (the rest is cut off)",
		strings.Repeat("\n", 600): "“`" + strings.Repeat(`\n`, 9) + `\` + "…`” (the rest is cut off)",
	} {
		if got := report.Quote(words, 20); got != want {
			t.Errorf("%q: %s, not %s", words, got, want)
		}
	}
}
