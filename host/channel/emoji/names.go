package emoji

import (
	"strings"

	"github.com/longshore-bridge/longshore/host/channel"
)

// Names translate between characters and Slack's names, which many platforms use. NewNames makes one.
type Names struct {
	names map[string]string // by character, without its variation selectors
	chars map[string]string // by name
}

// NewNames reads the table.
func NewNames() Names {
	e := Names{map[string]string{}, map[string]string{}}
	for char, names := range All() {
		e.names[Bare(char)] = names[0]
		for _, name := range names {
			e.chars[name] = char
		}
	}
	return e
}

// toneMark is before the number of a skin tone, which Slack counts from 2 on.
const toneMark = "::skin-tone-"

// Char returns the character of Slack's name of an emoji. For a workspace's own emoji, which has
// no character, it returns the name between colons.
func (e Names) Char(name string) string {
	if name == "" {
		return ""
	}
	base, tone, toned := strings.Cut(name, toneMark)
	char, ok := e.chars[base]
	if !ok {
		return channel.CleanName(":" + base + ":")
	}
	if toned && len(tone) == 1 && tone[0] >= '2' && tone[0] <= '6' {
		first := []rune(char)[0]
		rest := strings.TrimPrefix(strings.TrimPrefix(char, string(first)), "\ufe0f")
		char = string(first) + Tones[tone[0]-'2'] + rest
	}
	return char
}

// Name returns Slack's name of a character; false if Slack has none.
func (e Names) Name(char string) (string, bool) {
	char = Bare(char)
	if name, ok := e.names[char]; ok {
		return name, true
	}
	for i, tone := range Tones {
		if base := strings.ReplaceAll(char, tone, ""); base != char {
			name, ok := e.names[base]
			return name + toneMark + string(rune('2'+i)), ok
		}
	}
	return "", false
}

// Has reports whether Slack has an emoji.
func (e Names) Has(char string) bool {
	_, ok := e.Name(char)
	return ok
}
