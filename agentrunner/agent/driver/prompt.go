package driver

import (
	"strings"
	"unicode"
)

// noCommand has a CLI take a prompt for words alone. Claude Code and gemini-cli
// hold one that begins with a slash for a command of theirs, such as /init; a
// host's markup never does, but not every prompt is a host's.
func noCommand(text string) string {
	start := strings.TrimLeftFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' })
	if strings.HasPrefix(start, "/") {
		return "<message>" + text + "</message>"
	}
	return text
}

// noMention keeps a CLI from reading the files that a member names as in "see
// @notes.txt", where the CLI has no setting for it. The prompts are markup, so
// the model reads the character that is meant.
func noMention(text string) string { return strings.ReplaceAll(text, "@", "&#64;") }
