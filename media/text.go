package media

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Printable makes foreign text fit to be shown to an operator: on a terminal,
// in a log, in a table. Control characters, bidirectional overrides, invisible
// characters and bytes that are not UTF-8 come out as Go escapes (\n, \x1b,
// \u202e), so the result is one line and moves no cursor. Text that holds none
// of them comes back unchanged. The escapes are for the eye: a backslash in s
// stays as it is, so the way back is not unique.
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

// blank says whether a letter or symbol by Unicode's books shows as nothing,
// so that a name or a word made of it could not be seen.
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

// Cut is s if it has at most n characters, and else its beginning, of n
// characters with the … at its end.
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

// Count is a number with its noun: "1 turn", "3 turns".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
