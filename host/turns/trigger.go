package turns

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// calls says whether a text holds the trigger word, whatever its case, with
// no letter or digit next to it: "@Andy, look" does, "@Andyman" and
// "mail@andy.org" do not. An empty trigger is in every text.
func calls(trigger, text string) bool {
	if trigger == "" {
		return true
	}
	length := utf8.RuneCountInString(trigger)
	runes := []rune(text)
	for i := 0; i+length <= len(runes); i++ {
		if i > 0 && wordRune(runes[i-1]) || i+length < len(runes) && wordRune(runes[i+length]) {
			continue
		}
		if strings.EqualFold(string(runes[i:i+length]), trigger) {
			return true
		}
	}
	return false
}

func wordRune(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}
