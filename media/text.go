package media

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Printable makes untrusted text safe to show to an operator: on a terminal, in a
// log, in a table. Control characters, bidirectional overrides, invisible characters
// and bytes that are not UTF-8 become Go escapes (\n, \x1b, \u202e). So the result
// is one line and moves no cursor. Other text is returned unchanged. The result
// cannot be converted back, because a backslash in s stays as it is.
func Printable(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			b.WriteString(`\x`)
			b.WriteString(strconv.FormatUint(uint64(s[i]), 16)) // at least 0x80, so always two digits
		case strconv.IsPrint(r) && !blank(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

// blank reports whether a character that Unicode calls a letter or symbol is
// invisible, so that nobody could see a name made of it.
func blank(r rune) bool {
	switch r {
	case 0x115F, 0x1160, 0x3164, 0xFFA0, // Hangul fillers
		0x2800,         // braille pattern without a dot
		0x034F, 0x17B4, // combining grapheme joiner, Khmer inherent vowels
		0x17B5:
		return true
	}
	return false
}

// Cut returns s if it has at most n characters, and else its first n characters with
// "…" as the last of them.
func Cut(s string, n int) string {
	for i := range s {
		if n == 0 {
			return cutLast(s[:i])
		}
		n--
	}
	return s
}

func cutLast(s string) string {
	_, size := utf8.DecodeLastRuneInString(s)
	return s[:len(s)-size] + "…"
}

// Count returns a number with its noun: "1 turn", "3 turns".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok && !strings.ContainsAny(stem[max(len(stem)-1, 0):], "aeou") {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
