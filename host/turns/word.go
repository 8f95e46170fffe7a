package turns

import (
	"strings"
	"unicode"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// word is a member's command to the host, such as /stop. The host obeys it; the assistant
// never reads it.
type word string

const (
	stopWord   word = "stop"
	newWord    word = "new"
	statusWord word = "status"
	helpWord   word = "help"
)

// right is the right that a member needs for a command, or for a message without one.
func (w word) right() groups.Right {
	switch w {
	case stopWord:
		return groups.MayStop
	case newWord:
		return groups.MayNew
	}
	return groups.MaySpeak
}

// wordOf returns the command with which a member's message begins, in any case, with or
// without the trigger before it; empty if there is none. more says that text follows the
// command. What a member quotes, forwards, edits or writes below a file is no command.
func wordOf(in *channel.Inbound, trigger string) (w word, more bool) {
	switch {
	case in.Kind != channel.KindMessage || in.Forwarded || in.Told != "" || len(in.Files) > 0:
		return "", false
	case in.Command != "":
		if w = wordNamed(in.Command); w == "" {
			w = helpWord
		}
		return w, false
	}
	text := withoutCall(strings.TrimFunc(in.Text, blank), trigger, in.Direct)
	end := strings.IndexFunc(text, unicode.IsSpace)
	if end < 0 {
		end = len(text)
	}
	name, slash := strings.CutPrefix(text[:end], "/")
	if !slash {
		return "", false
	}
	return wordNamed(name), end < len(text)
}

// blank reports whether a rune may stand round a command: space, and the marks with which apps isolate
// a mention.
func blank(r rune) bool {
	return unicode.IsSpace(r) || r >= '\u2066' && r <= '\u2069' || r == '\u200e' || r == '\u200f'
}

// wordNamed returns the command of that name, or empty. Only the letters of ASCII count:
// case folding would take other ones for them, such as U+017F for an s.
func wordNamed(name string) word {
	lower := []byte(name)
	for i, b := range lower {
		if 'A' <= b && b <= 'Z' {
			lower[i] = b + 'a' - 'A'
		}
	}
	switch w := word(lower); w {
	case stopWord, newWord, statusWord, helpWord:
		return w
	}
	return ""
}

// withoutCall takes the trigger away that a text begins with or, of a message that
// speaks to the assistant by itself, the mention.
func withoutCall(text, trigger string, direct bool) string {
	rest := text
	first, behind, _ := strings.Cut(text, " ")
	switch {
	case trigger != "" && len(text) >= len(trigger) && strings.EqualFold(text[:len(trigger)], trigger):
		rest = text[len(trigger):]
	case direct && strings.HasPrefix(first, "@"):
		return strings.TrimLeftFunc(behind, blank)
	default:
		return text
	}
	trimmed := strings.TrimLeftFunc(rest, func(r rune) bool { return blank(r) || r == ',' || r == ':' })
	if trimmed == rest { // a longer word begins like the trigger
		return text
	}
	return trimmed
}
