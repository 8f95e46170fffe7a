package web

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzClean: whatever a member writes, a name is one short line without
// invisible characters, a text is valid and keeps its lines, and cleaning
// twice changes nothing more.
func FuzzClean(f *testing.F) {
	for _, s := range []string{"Ann", "a\u202eb", "\x00\x1b[31m", "\xff\xfe", "👨‍👩‍👧", strings.Repeat("é ", 99), "\u200b", "a\r\nb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name := cleanName(s, "Member")
		if name == "" || !utf8.ValidString(name) || utf8.RuneCountInString(name) > 64 || cleanName(name, "Member") != name {
			t.Errorf("the name %q became %q", s, name)
		}
		for _, r := range name {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d' {
				t.Errorf("the name %q became %q", s, name)
			}
		}
		text := cleanText(s)
		if !utf8.ValidString(text) || cleanText(text) != text || strings.ContainsAny(text, "\x00\x1b") {
			t.Errorf("the text %q became %q", s, text)
		}
	})
}
