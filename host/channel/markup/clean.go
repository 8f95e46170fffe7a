package markup

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/longshore-bridge/longshore/media"
)

// The most that is parsed. Beyond it, a text is shown as it was written: the parser
// takes time that grows with the square of some of these.
const (
	maxInput  = 64 << 10 // bytes
	maxMarks  = 2000     // characters of one block that may be markup
	maxCells  = 20_000   // of one block, if it is a table
	maxNested = 16       // quotes and lists that begin in one line
	maxDepth  = 24       // of a tree
)

var containers = regexp.MustCompile(`^(?:[ \t]*(?:>|(?:[*+-]|\d{1,9}[.)])[ \t]))+`)

// parseable says whether parsing a text takes bounded time.
func parseable(text string) bool {
	if len(text) > maxInput {
		return false
	}
	lines, marks, pipes := 0, 0, 0
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			lines, marks, pipes = 0, 0, 0
			continue
		}
		lines++
		pipes = max(pipes, strings.Count(line, "|"))
		for _, c := range []byte(line) {
			if strings.IndexByte("[]<*_~`!", c) >= 0 {
				marks++
			}
		}
		if marks > maxMarks || pipes*lines > maxCells || nested(line) > maxNested {
			return false
		}
	}
	return true
}

// nested is how many quotes and lists begin in a line.
func nested(line string) (n int) {
	for _, c := range containers.FindString(line) {
		if strings.ContainsRune(">*+-.)", c) {
			n++
		}
	}
	return n
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n")

// clean removes what nobody means to be seen: control characters but tabs and line
// breaks, the direction overrides and isolates with which a text can be made to look
// like another one, and invisible characters that only a model reads. The direction
// marks stay: Arabic and Hebrew need these.
func clean(text string) string {
	return media.WithoutHidden(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r) && r != '\n' && r != '\t',
			r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r == 0xFEFF:
			return -1
		}
		return r
	}, strings.ToValidUTF8(lineEnds.Replace(text), "\uFFFD")))
}
