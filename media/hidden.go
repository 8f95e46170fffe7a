package media

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// WithoutHidden removes invisible characters that can carry a text which only a
// model reads: tags, which repeat ASCII (U+E0000 to U+E007F), and variation
// selectors, of which there are 256, one for each byte. These uses stay:
//
//   - the flags of England, Scotland and Wales, the only ones that Unicode
//     recommends to write with tags (emoji-sequences.txt, RGI_Emoji_Tag_Sequence);
//   - one U+FE0E or U+FE0F behind an emoji (emoji-variation-sequences.txt), and
//     behind a digit, # or * if a keycap follows;
//   - one of U+E0100 to U+E01EF behind a unified ideograph (UTS #37);
//   - one Mongolian selector behind a Mongolian letter (StandardizedVariants.txt).
//
// A text without such characters is returned unchanged. In any other text, each byte
// that is not UTF-8 becomes U+FFFD; otherwise the bytes on both sides of a removed
// character could join to a new one. Applying WithoutHidden again changes nothing.
func WithoutHidden(text string) string {
	if !strings.ContainsFunc(text, hiding) {
		return text
	}
	var b strings.Builder
	last := rune(0) // the last character written
	for len(text) > 0 {
		if n := tagFlag(text); n > 0 {
			b.WriteString(text[:n])
			text, last = text[n:], 0
			continue
		}
		r, n := utf8.DecodeRuneInString(text)
		if !hiding(r) || selects(last, r, text[n:]) {
			b.WriteRune(r)
			last = r
		}
		text = text[n:]
	}
	return b.String()
}

func hiding(r rune) bool { return isTag(r) || unicode.Is(unicode.Variation_Selector, r) }

func isTag(r rune) bool { return r >= 0xE0000 && r <= 0xE007F }

// selects reports whether a variation selector may stand behind base and before
// rest.
func selects(base, selector rune, rest string) bool {
	const keycap = "\u20e3"
	switch {
	case selector == 0xFE0E, selector == 0xFE0F:
		if strings.ContainsRune("0123456789#*", base) {
			return strings.HasPrefix(rest, keycap)
		}
		return unicode.Is(emojiWithStyles, base)
	case selector >= 0xE0100 && selector <= 0xE01EF:
		return unicode.Is(unicode.Unified_Ideograph, base)
	case selector >= 0x180B && selector <= 0x180F:
		return unicode.Is(unicode.Mongolian, base) && unicode.IsLetter(base)
	}
	return false
}

// emojiWithStyles holds the symbols that have a text and an emoji form, by the
// blocks of emoji-variation-sequences.txt. The blocks also contain some symbols
// without the two forms; a selector behind one of these stays and can carry one bit.
var emojiWithStyles = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x00A9, 0x00A9, 1}, {0x00AE, 0x00AE, 1}, {0x203C, 0x203C, 1}, {0x2049, 0x2049, 1}, {0x2122, 0x2122, 1}, {0x2139, 0x2139, 1},
		{0x2194, 0x2199, 1}, {0x21A9, 0x21AA, 1}, {0x231A, 0x231B, 1}, {0x2328, 0x2328, 1}, {0x23CF, 0x23CF, 1}, {0x23E9, 0x23F3, 1},
		{0x23F8, 0x23FA, 1}, {0x24C2, 0x24C2, 1}, {0x25AA, 0x25AB, 1}, {0x25B6, 0x25B6, 1}, {0x25C0, 0x25C0, 1}, {0x25FB, 0x25FE, 1},
		{0x2600, 0x27BF, 1}, {0x2934, 0x2935, 1}, {0x2B05, 0x2B07, 1}, {0x2B1B, 0x2B1C, 1}, {0x2B50, 0x2B50, 1}, {0x2B55, 0x2B55, 1},
		{0x3030, 0x3030, 1}, {0x303D, 0x303D, 1}, {0x3297, 0x3297, 1}, {0x3299, 0x3299, 1},
	},
	R32:         []unicode.Range32{{0x1F004, 0x1F004, 1}, {0x1F170, 0x1F171, 1}, {0x1F17E, 0x1F17F, 1}, {0x1F202, 0x1F237, 1}, {0x1F300, 0x1F6FF, 1}, {0x1F900, 0x1FAFF, 1}},
	LatinOffset: 2,
}

// tagFlag returns the length of the flag made of tags at the start of a text, or 0.
func tagFlag(text string) int {
	const black, end = "\U0001F3F4", "\U000E007F"
	if !strings.HasPrefix(text, black) {
		return 0
	}
	for _, nation := range []string{"gbeng", "gbsct", "gbwls"} {
		flag := black + strings.Map(func(r rune) rune { return r + 0xE0000 }, nation) + end
		if strings.HasPrefix(text, flag) {
			return len(flag)
		}
	}
	return 0
}
