package slack

import (
	_ "embed"
	"strings"

	"github.com/longshore-bridge/longshore/host/channel"
)

// emojiTable has a line for each emoji: its character, Slack's name of it, and
// further names. The names are those of emoji-data 16.0.0 (emoji-datasource in
// npm), which Slack uses.
//
//go:embed emoji.txt
var emojiTable string

// emojis translate between characters and Slack's names.
type emojis struct {
	names map[string]string // by character, without its variation selectors
	chars map[string]string // by name
}

func newEmojis() emojis {
	e := emojis{map[string]string{}, map[string]string{}}
	for line := range strings.Lines(emojiTable) {
		words := strings.Fields(line)
		e.names[plain(words[0])] = words[1]
		for _, name := range words[1:] {
			e.chars[name] = words[0]
		}
	}
	return e
}

// variation selects that a character is shown as a picture. It may be left out.
const variation = "\ufe0f"

func plain(char string) string { return strings.ReplaceAll(char, variation, "") }

// tones are the skin tones, which Slack counts from 2 on.
var tones = []string{"🏻", "🏼", "🏽", "🏾", "🏿"}

const toneMark = "::skin-tone-"

// char is a reaction of Slack's name as a character. A workspace's own emoji has
// none: it comes as its name between colons.
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
		rest := strings.TrimPrefix(strings.TrimPrefix(char, string(first)), variation)
		char = string(first) + tones[tone[0]-'2'] + rest
	}
	return char
}

// name is Slack's name of a character; false if Slack has none.
func (e emojis) name(char string) (string, bool) {
	char = plain(char)
	if name, ok := e.names[char]; ok {
		return name, true
	}
	for i, tone := range tones {
		if base := strings.ReplaceAll(char, tone, ""); base != char {
			name, ok := e.names[base]
			return name + toneMark + string(rune('2'+i)), ok
		}
	}
	return "", false
}
