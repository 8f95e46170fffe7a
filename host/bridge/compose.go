package bridge

import (
	"strings"
	"unicode"

	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/media"
)

// texts cuts a text into parts that the channel takes. A limit of 0 is none.
func texts(text string, l media.Limits) []outbox.Part {
	var parts []outbox.Part
	for _, piece := range split(text, l.Text, l.Unit) {
		parts = append(parts, outbox.Part{Text: piece})
	}
	return parts
}

// attach adds a file to the parts of its request: to the message of the file
// before it, if the two may share one and this file has no words of its own, or
// else as a message. If the channel cannot attach the whole caption, further
// parts have it: the text is sent, never dropped.
func attach(parts []outbox.Part, file outbox.File, caption string, l media.Limits) []outbox.Part {
	if last := len(parts) - 1; last >= 0 && caption == "" && mayShare(parts[last].Files, file, l) {
		parts[last].Files = append(parts[last].Files, file)
		return parts
	}
	part := outbox.Part{Files: []outbox.File{file}}
	if l.Unit.Len(caption) <= l.Kinds[file.Kind].Caption {
		part.Text = caption
		return append(parts, part)
	}
	return append(append(parts, part), texts(caption, l)...)
}

func mayShare(files []outbox.File, file outbox.File, l media.Limits) bool {
	var before []media.Info
	for _, f := range files {
		before = append(before, f.Info)
	}
	return len(before) > 0 && l.MayShare(before, file.Info)
}

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
