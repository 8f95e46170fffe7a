package librarylog

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// FuzzLogText: whatever the library quotes of a stanza or of a name, a line of
// the log is short, is one line, and shows all that is in it.
func FuzzLogText(f *testing.F) {
	for _, s := range []string{
		"", "Failed to handle <message id=\"1\">\n<enc>a</enc></message> now", "key 3q2+7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "from 4915112345678@s.whatsapp.net",
		"name \x1b[31mred\u202e", "\xff\xfe\u2028\u0085", strings.Repeat("é ", 1000), strings.Repeat("a ", 199) + "\U0001f6a2",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := Harmless(s)
		if !utf8.ValidString(out) || len(out) > maxLogged+len("…") {
			t.Fatalf("%q became %q", s, out)
		}
		for _, r := range out {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' {
				t.Errorf("%q became %q with %U", s, out, r)
			}
		}
	})
}

func TestAForeignLogLineIsHarmless(t *testing.T) {
	for in, want := range map[string]string{
		"Failed to handle <message id=\"1\">\n<enc>a</enc></message> now": "Failed to handle <…> now",
		"key 3q2+7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA":            "key …",
		"from 4915112345678@s.whatsapp.net":                               "from 491…78@s.whatsapp.net",
		"name \x1b[31mred\u202e":                                          `name \x1b[31mred\u202e`,
	} {
		if diff := cmp.Diff(want, Harmless(in)); diff != "" {
			t.Errorf("harmless(%q): %s", in, diff)
		}
	}
	if long := Harmless(strings.Repeat("é ", 1000)); len(long) > maxLogged+len("…") {
		t.Errorf("a line of %d bytes", len(long))
	}
}
