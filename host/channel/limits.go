package channel

import (
	"fmt"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/media"
)

// CheckText is why the platform of that name does not take a text, a permanent
// error. The host splits and refuses before it calls Send; this is the channel's
// own last look.
func CheckText(name, text string, l media.Limits) error {
	n := utf8.RuneCountInString(text)
	if l.Text <= 0 || n <= l.Text {
		return nil
	}
	return &Error{Class: Permanent, Code: "text_too_long",
		Message: fmt.Sprintf("the text has %d characters; %s takes up to %d", n, name, l.Text),
		Hint:    "split the text, or send it as a file"}
}

// CheckFile is why the platform of that name does not take a file in its kind, a
// permanent error.
func CheckFile(name string, f media.Info, l media.Limits) error {
	err := l.Check(name, f)
	if err == nil {
		return nil
	}
	e := &Error{Class: Permanent, Code: "file_too_large", Message: err.Error()}
	if r := refusal.Of(err); r != nil {
		e.Code, e.Message, e.Hint = r.Code, r.Message, r.Hint
	}
	return e
}
