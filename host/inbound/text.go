package inbound

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/media"
)

// Cut shortens a text and says by how much.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head := strings.ToValidUTF8(text[:limit], "")
	return head + " [" + strconv.Itoa(len(text)-len(head)) + " more bytes left out]"
}

// Visible is text without control characters, and without characters that a model reads
// and a person cannot see. Direction marks stay, because Arabic and Hebrew need them.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == 0xfffe || r == 0xffff {
			return -1
		}
		if r == utf8.RuneError {
			return '?'
		}
		return r
	}, media.WithoutHidden(text))
}

// OneLine is text on one line, shortened.
func OneLine(text string) string { return strings.Join(strings.Fields(Cut(text, 500)), " ") }
