package sender

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/longshore-bridge/longshore/ipc"
)

// what names the parts: "report.pdf (1.2 MB, document)", "the text", "3 files: …".
func (r Report) what() string {
	switch len(r.Files) {
	case 0:
		return "it"
	case 1:
		return partWords(r.Files[0])
	}
	const shown = 6
	names := make([]string, 0, shown)
	for i, f := range r.Files {
		if i == shown {
			names = append(names, fmt.Sprintf("and %d more", len(r.Files)-shown))
			break
		}
		names = append(names, partWords(f))
	}
	return fmt.Sprintf("%d parts: %s", len(r.Files), strings.Join(names, ", "))
}

func partName(f ipc.Outcome) string {
	if f.Name == "" {
		return "the text"
	}
	return f.Name
}

func partWords(f ipc.Outcome) string {
	if f.Name == "" || f.Kind == "" {
		return partName(f)
	}
	return fmt.Sprintf("%s (%s, %s)", f.Name, size(f.Size), f.Kind)
}

// notes are what the host remarks on single parts, such as a picture that went
// as a document.
func (r Report) notes() string {
	var b strings.Builder
	for _, f := range r.Files {
		if f.Note != "" {
			b.WriteString(" Note: " + sentence(f.Note))
		}
	}
	return b.String()
}

func progressWords(p ipc.Progress) string {
	return size(p.Sent) + " of " + size(p.Total)
}

// quoted shows foreign text so that it can neither end its line nor steer a
// terminal, and cuts what is too long to read.
func quoted(s string) string {
	const longest = 120
	if runes := []rune(s); len(runes) > longest {
		s = string(runes[:longest]) + "…"
	}
	return strconv.Quote(printable(s))
}

// printable replaces what does not print: control characters and the marks
// that turn the direction of text around. A newline becomes a space.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar:
			return '?'
		}
		return r
	}, s)
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }
