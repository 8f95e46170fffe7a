package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// Approval returns the question for the approvers of a delivery which waits because of
// the rule.
func Approval(d *records.Delivery, rule string) string {
	return fmt.Sprintf("Group %s wants to %s %s:\n%s\nRule: %s. May it go?", d.Folder, intent(d), d.Chat, contents(d), rule)
}

// Permission returns the question for the approvers whether a group's session elsewhere
// may use a tool.
func Permission(folder string, p ipc.Permission) string {
	return fmt.Sprintf("The session of group %s asks to use its tool %s. Input:\n%s\nWhat it says about this:\n%s\nMay it?",
		folder, Quote(p.Tool, ToolName), quotedLines(p.Input, shownInput), quotedLines(p.Description, 300))
}

// intent returns what a delivery would do in its chat, for people.
func intent(d *records.Delivery) string {
	switch act := d.Parts[0].Act; { // the parts of one delivery do the same
	case act == nil:
		return "send to"
	case act.Verb == records.VerbReact:
		return "react to a message in"
	default:
		return "change a message in"
	}
}

// ToolName is how many characters of a tool's name are quoted.
const ToolName = 64

// shownText is how many characters of foreign words a question quotes.
const shownText = 600

// shownInput is how many characters of a tool's input a question quotes: all that agentrunner passes on.
const shownInput = 1000

// contents describes a delivery to people. The names of files and the words are foreign,
// and marked so.
func contents(d *records.Delivery) string {
	const most = 3
	var all []string
	files := d.AllFiles()
	for _, f := range files[:min(len(files), most)] {
		all = append(all, fmt.Sprintf("%s (%s)", fileName(f.Name), media.Size(f.Size)))
	}
	if len(files) > most {
		all = append(all, media.Count(len(files)-most, "more file"))
	}
	if words := wordsOf(d); words != "" {
		all = append(all, quotedLines(media.Cut(words, shownText), shownText))
		if more := utf8.RuneCountInString(words) - shownText; more > 0 {
			all = append(all, media.Count(more, "more character")+" that only the operator can read")
		}
	}
	if len(all) == 0 {
		return "a message"
	}
	return strings.Join(all, "\n")
}

// wordsOf returns all words of a delivery in one line: texts, captions, choices, and what files
// show. The address of a link is left out: after a yes it works for everybody.
func wordsOf(d *records.Delivery) string {
	var all []string
	var link string // the last one's id
	for _, p := range d.Parts {
		if p.Link != nil {
			link = p.Link.ID
		}
		for _, word := range strings.Fields(p.Says()) {
			if link != "" && strings.Contains(word, link) {
				word = "(address)"
			}
			all = append(all, word)
		}
		for _, f := range p.Files {
			if alt := strings.Fields(f.Alt); len(alt) > 0 {
				all = append(append(all, "/"), alt...)
			}
		}
		if p.Question != nil {
			for _, c := range p.Question.Choices {
				all = append(append(all, "/"), strings.Fields(c)...)
			}
		}
	}
	return strings.Join(all, " ")
}
