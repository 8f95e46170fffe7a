package sender

import (
	"strconv"
	"strings"

	"github.com/longshore-bridge/longshore/media"
)

// capital starts a sentence with a capital letter, unless its first word is a name
// such as send_file.
func capital(s string) string {
	word, _, _ := strings.Cut(s, " ")
	if s == "" || strings.ContainsAny(word, "_.") || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// printable is media.Printable that keeps lines.
func printable(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = media.Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

func after(s string) string {
	if s == "" {
		return ""
	}
	return " " + s
}

func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

// quoted quotes untrusted text so that it can neither end its line nor control a
// terminal, and shortens it.
func quoted(s string) string {
	return strconv.Quote(media.Cut(s, 120))
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }
