package safefs_test

import (
	"slices"
	"testing"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

func TestSpelledFindsAFileInTheOtherFormOfUnicode(t *testing.T) {
	const composed, apart = "\u00e9t\u00e9", "e\u0301te\u0301"
	there := []string{"/", "/a", "/a/" + apart, "/a/" + apart + "/" + composed + ".pdf", apart, apart + "/x"}
	for path, want := range map[string]string{
		"/a/" + composed + "/" + composed + ".pdf": "/a/" + apart + "/" + composed + ".pdf",
		"/a/" + apart + "/" + apart + ".pdf":       "/a/" + apart + "/" + composed + ".pdf",
		"/a/" + apart:                              "/a/" + apart,
		composed + "/x":                            apart + "/x",
		composed + "/y":                            composed + "/y",
		"/b/" + composed:                           "/b/" + composed,
		"":                                         "",
	} {
		got := safefs.Spelled(path, func(p string) bool { return slices.Contains(there, p) })
		if got != want {
			t.Errorf("%q is %q, want %q", path, got, want)
		}
	}
}
