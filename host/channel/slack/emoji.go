package slack

import (
	"strings"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/emoji"
)

// emojis translate between characters and Slack's names.
type emojis struct {
	names map[string]string // by character, without its variation selectors
	chars map[string]string // by name
}

func newEmojis() emojis {
	e := emojis{map[string]string{}, map[string]string{}}
	for char, names := range emoji.All() {
		e.names[emoji.Bare(char)] = names[0]
		for _, name := range names {
			e.chars[name] = char
		}
	}
	return e
}

// toneMark is before the number of a skin tone, which Slack counts from 2 on.
const toneMark = "::skin-tone-"

// char returns the character of Slack's name of an emoji. For a workspace's own emoji, which has
// no character, it returns the name between colons.
func (e emojis) char(name string) string {
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
		char = string(first) + emoji.Tones[tone[0]-'2'] + rest
	}
	return char
}

// name returns Slack's name of a character; false if Slack has none.
func (e emojis) name(char string) (string, bool) {
	char = emoji.Bare(char)
	if name, ok := e.names[char]; ok {
		return name, true
	}
	for i, tone := range emoji.Tones {
		if base := strings.ReplaceAll(char, tone, ""); base != char {
			name, ok := e.names[base]
			return name + toneMark + string(rune('2'+i)), ok
		}
	}
	return "", false
}

// has reports whether Slack has an emoji.
func (e emojis) has(char string) bool {
	_, ok := e.name(char)
	return ok
}
