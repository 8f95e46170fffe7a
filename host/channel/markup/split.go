package markup

import (
	"strings"
	"unicode"

	"github.com/longshore-bridge/longshore/media"
)

// split cuts text into pieces of at most limit units, at the end of a
// paragraph, a line, a sentence or a word where one lies in the second half of
// the piece. White space at a cut is dropped.
func split(text string, limit int, unit media.Unit) []string {
	text = strings.TrimSpace(text)
	var pieces []string
	for limit > 0 && unit.Len(text) > limit {
		end := byteIndex(text, limit, unit)
		if cut := lastBreak(text[:end]); cut > end/2 {
			end = cut
		}
		pieces = append(pieces, strings.TrimRightFunc(text[:end], unicode.IsSpace))
		text = strings.TrimLeftFunc(text[end:], unicode.IsSpace)
	}
	if text != "" {
		pieces = append(pieces, text)
	}
	return pieces
}

// lastBreak is the index behind the best place to cut s, or 0.
func lastBreak(s string) int {
	for _, sep := range []string{"\n\n", "\n", ". ", " "} {
		if i := strings.LastIndex(s, sep); i > len(s)/2 {
			return i + len(sep)
		}
	}
	return 0
}

// byteIndex is where the first n units of s end, and at least its first
// character.
func byteIndex(s string, n int, unit media.Unit) int {
	for i, r := range s {
		if n -= unit.Of(r); n < 0 && i > 0 {
			return i
		}
	}
	return len(s)
}
