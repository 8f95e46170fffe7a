package assistant

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// withoutHidden takes out of a text the characters that show as nothing and in
// which whole sentences can be written to a model: tags, which repeat ASCII
// (U+E0000 to U+E007F), and rows of variation selectors. Tags stay in the flags
// of England, Scotland and Wales, the only ones that Unicode recommends writing
// so (emoji-sequences.txt, RGI_Emoji_Tag_Sequence), and one selector behind a
// character.
func withoutHidden(text string) string {
	if !strings.ContainsFunc(text, hiding) {
		return text
	}
	var b strings.Builder
	last := rune(0)
	for len(text) > 0 {
		if n := flag(text); n > 0 {
			b.WriteString(text[:n])
			text, last = text[n:], 0
			continue
		}
		r, n := utf8.DecodeRuneInString(text)
		if !tag(r) && !(unicode.Is(unicode.Variation_Selector, r) && unicode.Is(unicode.Variation_Selector, last)) {
			b.WriteString(text[:n])
			last = r
		}
		text = text[n:]
	}
	return b.String()
}

func hiding(r rune) bool { return tag(r) || unicode.Is(unicode.Variation_Selector, r) }

func tag(r rune) bool { return r >= 0xE0000 && r <= 0xE007F }

// flag is the length of the flag made of tags with which a text begins, or 0.
func flag(text string) int {
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
