package bridge

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/media"
)

// texts cuts a text into parts that the channel takes. Limit counts
// characters; 0 means no limit.
func texts(text string, limit int) []outbox.Part {
	var parts []outbox.Part
	for _, piece := range split(text, limit) {
		parts = append(parts, outbox.Part{Text: piece})
	}
	return parts
}

// withCaption returns the file's part, and further parts where the channel
// cannot attach the whole caption: the text is sent, never dropped.
func withCaption(file outbox.File, caption string, limits media.Limits) []outbox.Part {
	part := outbox.Part{File: &file}
	if caption == "" {
		return []outbox.Part{part}
	}
	if utf8.RuneCountInString(caption) <= limits.Kinds[file.Kind].Caption {
		part.Text = caption
		return []outbox.Part{part}
	}
	return append([]outbox.Part{part}, texts(caption, limits.Text)...)
}

// split cuts text into pieces of at most limit characters, at the end of a
// paragraph, a line, a sentence or a word where one lies in the second half of
// the piece. White space at a cut is dropped.
func split(text string, limit int) []string {
	text = strings.TrimSpace(text)
	var pieces []string
	for limit > 0 && utf8.RuneCountInString(text) > limit {
		end := byteIndex(text, limit)
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

// byteIndex is where the n-th character of s begins.
func byteIndex(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}
