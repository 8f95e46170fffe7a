package sender

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// what describes the parts: "report.pdf (1.2 MiB, document)", "the text", "3 parts:
// …".
func (r Report) what() string {
	switch len(r.Files) {
	case 0:
		return "it"
	case 1:
		return partWords(r.Files[0])
	}
	const shown = 6
	names := make([]string, 0, shown)
	for i, f := range r.Files {
		if i == shown {
			names = append(names, fmt.Sprintf("and %d more", len(r.Files)-shown))
			break
		}
		names = append(names, partWords(f))
	}
	return fmt.Sprintf("%d parts: %s", len(r.Files), strings.Join(names, ", "))
}

// did says what a change or a question has done; empty for a message.
func (r Report) did() string {
	if len(r.Files) == 0 {
		return ""
	}
	switch r.Files[0].act() {
	case "react":
		return "Done: the reaction is set."
	case "edit":
		return "Changed: the message has its new text."
	case "unsend":
		return "Deleted: the message is gone for everybody."
	case "ask":
		return "Asked; id: " + r.ID + "."
	}
	return ""
}

// act is what the part does if it is no message.
func (f Part) act() string {
	switch f.Kind {
	case "react", "edit", "unsend", "ask":
		return f.Kind
	case "poll": // as the host calls a question
		return "ask"
	}
	return ""
}

func partName(f Part) string {
	switch f.act() {
	case "react":
		return "the reaction"
	case "edit":
		return "the new text"
	case "unsend":
		return "the deletion"
	case "ask":
		return "the question"
	}
	if f.Name == "" {
		return "the text"
	}
	return f.Name
}

func partWords(f Part) string {
	if f.Name == "" || f.Kind == "" {
		return partName(f)
	}
	return fmt.Sprintf("%s (%s, %s)", f.Name, media.Size(f.Size), f.Kind)
}

// notes returns the host's remarks on single parts, for example that a picture was
// sent as a document.
func (r Report) notes() string {
	var b strings.Builder
	for _, f := range r.Files {
		if f.Note != "" {
			b.WriteString(" Note: " + sentence(f.Note))
		}
	}
	return b.String()
}

func progressWords(p ipc.Progress) string {
	return media.Size(p.Sent) + " of " + media.Size(p.Total)
}

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
