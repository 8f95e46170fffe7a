package bot

import (
	"slices"
	"strings"
)

// Command is a word of the host that a platform offers as a command.
type Command struct {
	Name string
	Help string
}

// Commands returns the words of the host.
func Commands() []Command {
	return []Command{
		{"stop", "Stop what the assistant is doing here"},
		{"new", "Begin a new conversation with the assistant"},
		{"status", "Say who answers here, and what it is doing"},
		{"help", "Say which words the host knows"},
	}
}

// IsCommand reports whether a text is one of the host's words.
func IsCommand(text string) bool {
	return slices.ContainsFunc(Commands(), func(c Command) bool { return c.Name == text })
}

// CommandAfter returns the host's word if it is all that follows a mention of the bot; else nothing.
func CommandAfter(mention string) string {
	if word := strings.ToLower(strings.TrimSpace(strings.TrimLeft(mention, ":, "))); IsCommand(word) {
		return word
	}
	return ""
}
