package agent

import (
	"regexp"
	"strings"
)

// Message is one message of a prompt, without markup.
type Message struct {
	Text   string
	Files  []File // that came with it
	Quoted []File // of the message that it answers
}

// File is a file that a prompt names.
type File struct {
	Path    string // where it lies; empty: it does not
	Name    string
	Kind    string // image, video, audio, voice, sticker or document
	Missing string // why it is not there
}

// The host's markup. Members' texts and names are escaped, so none of theirs
// matches.
var (
	messageForm    = regexp.MustCompile(`(?s)<message [^>]*>(.*?)(?:</message>|$)`)
	quoteForm      = regexp.MustCompile(`(?s)<quoted_message[^>]*>(.*?)(?:</quoted_message>|$)`)
	attachmentForm = regexp.MustCompile(`\n?<attachment ([^>]*)/>`)
	contentForm    = regexp.MustCompile(`(?s)\n<(?:content|voice)[^>]*>.*?</(?:content|voice)>`) // of a file
	attributeForm  = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// Messages are the messages of a prompt of the form
//
//	<messages>
//	<message sender="Ada" time="…"><quoted_message from="…">…</quoted_message>text
//	<attachment path="…" name="…" kind="…" />
//	</message>
//	</messages>
//
// in their order; none if it has another form.
func Messages(prompt string) (all []Message) {
	for _, found := range messageForm.FindAllStringSubmatch(prompt, -1) {
		var m Message
		text := found[1]
		for _, quote := range quoteForm.FindAllStringSubmatch(text, -1) {
			m.Quoted = append(m.Quoted, files(quote[1])...)
		}
		text = quoteForm.ReplaceAllString(text, "")
		m.Files = files(text)
		text = contentForm.ReplaceAllString(text, "")
		m.Text = strings.TrimSpace(unescape(attachmentForm.ReplaceAllString(text, "")))
		all = append(all, m)
	}
	return all
}

func files(text string) (all []File) {
	for _, found := range attachmentForm.FindAllStringSubmatch(text, -1) {
		a := map[string]string{}
		for _, pair := range attributeForm.FindAllStringSubmatch(found[1], -1) {
			a[pair[1]] = unescape(pair[2])
		}
		all = append(all, File{Path: a["path"], Name: a["name"], Kind: a["kind"], Missing: a["not_stored"]})
	}
	return all
}

func unescape(text string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'", "&#39;", "'", "&amp;", "&").Replace(text)
}

// LastMessage is the text of the last message of a prompt. It is empty if the
// host's prompt has no message, and the whole prompt if that is not the host's.
func LastMessage(prompt string) string {
	if all := Messages(prompt); len(all) > 0 {
		return all[len(all)-1].Text
	}
	if strings.HasPrefix(prompt, "<context ") {
		return ""
	}
	return strings.TrimSpace(prompt)
}
