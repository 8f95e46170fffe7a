package media

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// Mark is a part of a text that is formatted, in UTF-16 units.
type Mark struct {
	Kind     string // the tag's name: b, i, s, code, pre, blockquote or a
	URL      string // of an a
	Language string // of a pre, as its writer named it; may be empty
	From, To int
}

var tag = regexp.MustCompile(`^<(?:(/?)(b|i|s|code|pre|blockquote|a)|(a) href="([^"<>]*)"|(pre) language="([A-Za-z0-9+#._-]{1,20})")>`)

// written are the characters that do not stand for themselves in MarkupTelegram.
var written = []struct{ as, is string }{{"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", `"`}}

// TagEscape makes any text one of MarkupTelegram without formatting.
var TagEscape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// Shown takes a text of MarkupTelegram apart: what members see, and how it is
// formatted, an outer mark before those within it. What is no whole tag is text.
func Shown(text string) (shown string, marks []Mark) {
	var b strings.Builder
	var open []Mark
	at := 0
	for len(text) > 0 {
		i := strings.IndexAny(text, "<&")
		if i < 0 {
			i = len(text)
		}
		b.WriteString(text[:i])
		at += UTF16.Len(text[:i])
		if text = text[i:]; text == "" {
			break
		}
		m := tag.FindStringSubmatch(text)
		last := len(open) - 1
		switch {
		case m != nil && m[1] == "/" && last >= 0 && open[last].Kind == m[2]:
			one := open[last]
			if open, one.To = open[:last], at; one.From < one.To {
				marks = append(marks, one)
			}
			text = text[len(m[0]):]
			continue
		case m != nil && m[1] == "" && m[2] != "a":
			open = append(open, Mark{Kind: m[2] + m[3] + m[5], URL: unescaped(m[4]), Language: m[6], From: at})
			text = text[len(m[0]):]
			continue
		}
		one, n := character(text)
		b.WriteString(one)
		at++
		text = text[n:]
	}
	slices.Reverse(marks) // an inner one ended before those around it
	slices.SortStableFunc(marks, func(a, b Mark) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(b.To, a.To)) })
	return b.String(), marks
}

// character is what a text that begins with < or & shows first, and how many bytes that takes.
func character(text string) (shown string, n int) {
	for _, w := range written {
		if strings.HasPrefix(text, w.as) {
			return w.is, len(w.as)
		}
	}
	return text[:1], 1
}

func unescaped(s string) string {
	for _, w := range slices.Backward(written) {
		s = strings.ReplaceAll(s, w.as, w.is)
	}
	return s
}
