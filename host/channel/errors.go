package channel

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/internal/refusal"
)

// Class says what a caller of Send may do after an error.
type Class int

// The classes. An error that is no *Error is Passing.
const (
	Passing   Class = iota // not sent; try again later
	Permanent              // not sent, and never will be
	Ambiguous              // may have been sent: ask, or repeat with the same id
	Held                   // not sent; the channel is down until an operator acts. Time spent held does not count against the deadline
)

// String is the class's name, for logs and tests.
func (c Class) String() string {
	switch c {
	case Passing:
		return "passing"
	case Permanent:
		return "permanent"
	case Ambiguous:
		return "ambiguous"
	case Held:
		return "held"
	}
	return fmt.Sprintf("class %d", int(c))
}

// Form is what a platform may refuse of a message without its content. Package ladder
// says what takes its place.
type Form string

// The forms.
const (
	FormKind   Form = "kind"   // of a file: a voice note, a picture
	FormAlbum  Form = "album"  // several files in one message
	FormReply  Form = "reply"  // the message that is answered is gone
	FormThread Form = "thread" // the thread is gone, or takes no messages
)

// Row is what a platform's refusal means.
type Row struct {
	Status int    // the platform's number; 0: any
	Said   string // a part of the platform's own words, in lower case; empty: any
	Class  Class
	Code   string
	Words  string
	Hint   string
	Form   Form // what is refused; empty: the content, or all
}

// RowOf is the first row that fits a refusal.
func RowOf(rows []Row, status int, said string) (Row, bool) {
	said = strings.ToLower(said)
	i := slices.IndexFunc(rows, func(r Row) bool { return (r.Status == 0 || r.Status == status) && strings.Contains(said, r.Said) })
	if i < 0 {
		return Row{}, false
	}
	return rows[i], true
}

// Error is the row as an error, with the platform's words as its cause.
func (r Row) Error(cause error) *Error {
	return &Error{Class: r.Class, Code: r.Code, Message: r.Words, Hint: r.Hint, Form: r.Form, Err: cause}
}

// Error is what Send returns when it knows more than that it went wrong.
type Error struct {
	Class      Class
	Code       string        // stable, for programs: "file_too_large", "not_a_member"
	Message    string        // for the agent and the operator; holds no host path
	Hint       string        // what to do about it; may be empty
	RetryAfter time.Duration // the platform's wish, for Passing; 0: none
	Form       Form          // for Permanent: only this is refused, and nothing was sent; empty: the content, or all
	Err        error         // the cause, for the operator's log; may be nil
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return fmt.Sprintf("%s: %v", e.Message, e.Err)
}

// Unwrap is the refusal, for the protocol's reply, and the cause.
func (e *Error) Unwrap() []error {
	return []error{&refusal.Error{Code: e.Code, Message: e.Message, Hint: e.Hint}, e.Err}
}

// ClassOf is the class of any error that Send returned. Nil is Passing.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return Passing
}

// FormOf is the form that an error of Send refuses; empty if it refuses more.
func FormOf(err error) Form {
	var e *Error
	if errors.As(err, &e) && e.Class == Permanent {
		return e.Form
	}
	return ""
}

// RetryAfterOf is how long the platform wants to be left alone after any error
// that Send returned; 0 where it did not say.
func RetryAfterOf(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return max(0, e.RetryAfter)
	}
	return 0
}
