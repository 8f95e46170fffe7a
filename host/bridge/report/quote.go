package report

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/media"
)

const (
	quotedLine = 60 // characters of foreign words in a line of their own
	nameHead   = 24 // characters of a long file name that stand before its cut
	nameTail   = 16 // and behind it
)

// foreign returns an assistant's words so that they can stand in quotation marks among the
// host's own: in one line, without direction marks, code marks, quotation marks and their
// look-alikes.
func foreign(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("`\u00b4\u02cb\uff40\u1fef\u2018\u2019\u201a\u201b\u2039\u203a", r):
			return '\''
		case r != '\'' && unicode.Is(unicode.Quotation_Mark, r) || strings.ContainsRune("\u02ba\u02dd\u02ee\u02f6\u2033\u2036\u3003\u275d\u275e\u2760\u1cd3", r):
			return '"'
		}
		return r
	}, media.WithoutHidden(media.Printable(s)))
}

// marked puts words of foreign between code marks, so that no markup of theirs counts, and
// in quotation marks, as a poll shows no code marks.
func marked(s string) string { return "“`" + s + "`”" }

// Quote quotes at most so many characters of foreign words within a line of the host's own.
// It says if something is cut off.
func Quote(s string, most int) string {
	if s == "" {
		return "(nothing)"
	}
	all := foreign(s)
	shown := media.Cut(all, most)
	if shown == all {
		return marked(all)
	}
	return marked(shown) + " (the rest is cut off)"
}

// quotedLines quotes foreign words on lines of their own, each of which is marked. It says
// if something is cut off.
func quotedLines(s string, most int) string {
	if s == "" {
		return "(nothing)"
	}
	all := foreign(s)
	shown := media.Cut(all, most)
	var lines []string
	for rest := []rune(shown); len(rest) > 0; {
		n := min(len(rest), quotedLine)
		if space := strings.LastIndexByte(string(rest[:n]), ' '); n < len(rest) && space > 0 {
			n = utf8.RuneCountInString(string(rest[:n])[:space]) + 1
		}
		lines = append(lines, marked(strings.TrimSuffix(string(rest[:n]), " ")))
		rest = rest[n:]
	}
	if shown != all {
		lines = append(lines, "(the rest is cut off)")
	}
	return strings.Join(lines, "\n")
}

// fileName quotes the name of a file. A long name keeps its end, which says what the file is.
func fileName(name string) string {
	all := []rune(foreign(name))
	if len(all) > nameHead+nameTail+1 {
		all = slices.Concat(all[:nameHead], []rune("…"), all[len(all)-nameTail:])
	}
	return marked(string(all))
}
