// Package markup renders the Markdown that assistants write in the form that a
// platform shows, and cuts the result into messages.
//
// [Parse] makes a tree of a text, once for all platforms. The page gets the tree. For
// the others, the tree is laid out as lines with formatted spans. A message is a piece of
// these, rendered alone: so what a cut separates is formatted on both of its sides. A
// platform is a dialect, in a file of its own.
//
// Whatever the text holds, what comes out has no control characters, no direction
// overrides, no pictures that are fetched, no mentions, and no link whose words look like
// another address.
package markup

import (
	"strings"

	"github.com/longshore-bridge/longshore/media"
)

// dialect is how a platform shows text.
type dialect struct {
	marks
	width int  // columns that a table may have
	links bool // words can be links
	web   bool // and only to pages
}

// Beginning is the text of a tree without formats, cut to a number of characters.
func Beginning(tree []Node, most int) string {
	s := layOut(tree, plain, maxURL)
	return media.Cut(plain.render(s.piece(s.bounds(byteIndex(s.text, most+1, media.Characters)))), most)
}

// Message is one message of a text.
type Message struct {
	Text    string // in the platform's form
	Written string // Markdown that becomes Text again: as it was written, if the text is one message
}

// Messages renders a text in a platform's form and cuts the result into messages of at
// most limit units; 0 is no limit. White space around the text and at cuts is dropped,
// so a blank text has no messages. A character that is longer than the limit is dropped too.
func Messages(text string, form media.Markup, limit int, unit media.Unit) (all []Message) {
	parts, pieces := cut(text, form, limit, unit)
	for i, p := range parts {
		m := Message{p, p}
		switch {
		case pieces == nil: // as written
		case len(parts) == 1:
			m.Written = strings.TrimSpace(text)
		default:
			m.Written = again.render(pieces[i])
		}
		all = append(all, m)
	}
	return all
}

// Parts is the Text of each of Messages.
func Parts(text string, form media.Markup, limit int, unit media.Unit) []string {
	parts, _ := cut(text, form, limit, unit)
	return parts
}

// cut returns the parts of a text, and the piece of the text that each was rendered of: none
// if the form is as written.
func cut(text string, form media.Markup, limit int, unit media.Unit) (parts []string, pieces []styled) {
	var d dialect
	switch form {
	case media.MarkupWhatsApp:
		d = whatsApp
	case media.MarkupSlack:
		d = slack
	case media.MarkupDiscord:
		d = discord
	case media.MarkupTelegram:
		d = telegram
	case media.MarkupPlain:
		d = plain
	default:
		return split(text, limit, unit), nil
	}
	render := d.render
	if form == media.MarkupTelegram {
		render = tagged
	}
	longest := maxURL
	if limit > 0 {
		longest = min(longest, limit/4) // also with the words, and as UTF-8
	}
	return layOut(Parse(text), d, longest).parts(render, limit, unit)
}
