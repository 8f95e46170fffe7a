package screen

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestANameOfSlashesDoesNotOccupyTheScreen: an assistant makes names of nothing but slashes,
// and each was looked at from each of its parts on.
func TestANameOfSlashesDoesNotOccupyTheScreen(t *testing.T) {
	slashes := strings.Repeat("a/", maxName/2)
	for path, want := range map[string][]string{
		"":             {""},
		".env":         {".env"},
		"a/b/c":        {"c", "b/c", "a/b/c"},
		"/w/a/b/c.txt": {"c.txt", "b/c.txt", "a/b/c.txt"},
		slashes:        {"", "a/", "a/a/"},
	} {
		if diff := cmp.Diff(want, slices.Collect(endings(path))); diff != "" {
			t.Errorf("%.20q is looked at (-want +got):\n%s", path, diff)
		}
	}
	s, err := New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	header := dirHeader + strings.Repeat("\x00", 24) + "\x00\x10" + strings.Repeat("\x00", 16)
	content := strings.Repeat(header+slashes, 512)
	if err := s.Check(strings.NewReader(content), int64(len(content)), "a.zip"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{".ssh/a", "home/.SSH/a/b/c/d/e", "home/.ssh/a\nb"} {
		if err := s.Check(strings.NewReader("x"), 1, name); err == nil {
			t.Errorf("%q leaves", name)
		}
	}
}

func TestEveryBuiltInExpressionCompiles(t *testing.T) {
	for _, r := range BuiltIn() {
		for _, e := range []expression{r.name, r.ending, r.except, r.content} {
			if e != nil {
				e() // panics if it is none
			}
		}
	}
}
