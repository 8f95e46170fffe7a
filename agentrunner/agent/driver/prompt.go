package driver

import (
	"strings"
	"unicode"
)

// noCommand makes a CLI read a prompt as text. Claude Code and gemini-cli read a
// prompt that starts with a slash as a command of theirs, such as /init. A host's
// markup never starts so, but not every prompt comes from a host.
func noCommand(text string) string {
	start := strings.TrimLeftFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' })
	if strings.HasPrefix(start, "/") {
		return "<message>" + text + "</message>"
	}
	return text
}

// noMention keeps a CLI from reading files that a member names, as in "see
// @notes.txt", if the CLI has no setting for it. Prompts are markup, so the model
// still reads an "@".
func noMention(text string) string { return strings.ReplaceAll(text, "@", "&#64;") }
