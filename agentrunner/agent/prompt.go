package agent

import "strings"

// LastMessage is the text of the last message in a prompt of the form
//
//	<messages>
//	<message sender="Ada" time="…">text</message>
//	</messages>
//
// without markup, quotes and files. If a prompt has another form, LastMessage
// returns the whole prompt.
func LastMessage(prompt string) string {
	const opening, closing = "<message ", "</message>"
	at := strings.LastIndex(prompt, opening)
	if at < 0 {
		return strings.TrimSpace(prompt)
	}
	_, text, ok := strings.Cut(prompt[at:], ">")
	if !ok {
		return strings.TrimSpace(prompt)
	}
	text, _, _ = strings.Cut(text, closing)
	text = withoutFiles(withoutQuote(text))
	unescape := strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'", "&#39;", "'", "&amp;", "&")
	return strings.TrimSpace(unescape.Replace(text))
}

// withoutFiles removes the lines that name files. Members' texts are escaped, so no
// line of theirs begins like that.
func withoutFiles(text string) string {
	var words []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "<attachment ") {
			words = append(words, line)
		}
	}
	return strings.Join(words, "")
}

func withoutQuote(text string) string {
	const closing = "</quoted_message>"
	before, rest, ok := strings.Cut(text, "<quoted_message")
	if !ok {
		return text
	}
	if _, after, ok := strings.Cut(rest, closing); ok {
		return before + after
	}
	return before
}
