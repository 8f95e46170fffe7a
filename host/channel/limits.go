package channel

import (
	"fmt"

	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/media"
)

// Check returns a permanent error if m exceeds the limits of the channel of that name. Send
// calls it as a last check: the host has split texts and grouped files by then.
func Check(name string, m Message, l media.Limits) error {
	if most := max(1, l.Files); len(m.Files) > most {
		return &Error{Class: Permanent, Code: "too_many_files",
			Message: fmt.Sprintf("the message has %d files; %s takes up to %d", len(m.Files), name, most),
			Hint:    "send them one by one"}
	}
	for i := range m.Files {
		if err := l.Check(name, m.Files[i].Info); err != nil {
			r := refusal.Of(err)
			return &Error{Class: Permanent, Code: r.Code, Message: r.Message, Hint: r.Hint}
		}
	}
	n := l.Unit.Len(m.Text)
	if len(m.Files) > 0 || l.Text <= 0 || n <= l.Text {
		return nil
	}
	return &Error{Class: Permanent, Code: "text_too_long",
		Message: fmt.Sprintf("the text has %d %s; %s takes up to %d", n, l.Unit, name, l.Text),
		Hint:    "split the text, or send it as a file"}
}
