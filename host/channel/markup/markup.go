// Package markup renders the Markdown that assistants write in the form that a
// platform shows, and cuts the result into messages.
package markup

import "github.com/longshore-bridge/longshore/media"

// Parts renders a text in a platform's form and cuts the result into messages of at
// most limit units; 0 is no limit. White space around the text and at cuts is dropped,
// so a blank text has no parts.
func Parts(text string, form media.Markup, limit int, unit media.Unit) []string {
	return split(text, limit, unit)
}
