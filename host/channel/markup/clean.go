package markup

import (
	"strings"
	"unicode"

	"github.com/longshore-bridge/longshore/media"
)

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
