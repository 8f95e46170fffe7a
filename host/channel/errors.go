package channel

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/internal/refusal"
)

// Class is what a caller of Send may do after an error.
type Class int

// The classes. An error that is no *Error is Passing.
const (
	Passing   Class = iota // not sent; try again later
	Permanent              // not sent, and never will be
	Ambiguous              // may have been sent: ask, or repeat with the same id
	Held                   // not sent; the channel is down until an operator acts. Time spent held does not count against the deadline
)

// String returns the name of the class, for logs and tests.
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

// Form is the part of a message's form that a platform may refuse without refusing its content.
// Package ladder says what takes its place.
type Form string

// The forms.
const (
	FormKind   Form = "kind"   // of a file: a voice note, a picture
	FormAlbum  Form = "album"  // several files in one message
	FormReply  Form = "reply"  // the message that is answered is gone
	FormThread Form = "thread" // the thread is gone, or takes no messages
)

// Row says what a platform's refusal means, as an entry of a table.
type Row struct {
	On    string // the platform's numbers or words, lower case, with | between: "404|chat not found". Words count as whole words; none: the platform said nothing
	Class Class
	Code  string
	Words string
	Hint  string
	Form  Form // what is refused; empty: the content, or all
}

// RowOf returns the first row that fits a refusal, by any of its numbers or by its words; false if
// none does.
func RowOf(rows []Row, said string, numbers ...int) (Row, bool) {
	i := slices.IndexFunc(rows, func(r Row) bool { return Says(r.On, said, numbers...) })
	if i < 0 {
		return Row{}, false
	}
	return rows[i], true
}

// Says reports whether a platform said one of the numbers or words of on, which has the form of Row.On.
func Says(on, said string, numbers ...int) bool {
	said = strings.ToLower(said)
	for one := range strings.SplitSeq(on, "|") {
		n, err := strconv.Atoi(one)
		if err == nil && slices.Contains(numbers, n) || err != nil && one == said || err != nil && one != "" && hasWords(said, one) {
			return true
		}
	}
	return false
}

// hasWords reports whether a text has words between characters that belong to no word.
func hasWords(text, words string) bool {
	inWord := func(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
	for at := 0; ; at++ {
		i := strings.Index(text[at:], words)
		if i < 0 {
			return false
		}
		at += i
		if end := at + len(words); (at == 0 || !inWord(text[at-1])) && (end == len(text) || !inWord(text[end])) {
			return true
		}
	}
}

// Error returns the row as an error. cause has the platform's words.
func (r Row) Error(cause error) *Error {
	return &Error{Class: r.Class, Code: r.Code, Message: r.Words, Hint: r.Hint, Form: r.Form, Err: cause}
}

// Again is the Hint of an error after which the host tries again.
const Again = "it is tried again by itself"

// Error is an error of Send whose class or remedy the channel knows.
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

// Unwrap returns the refusal, for the protocol's reply, and the cause.
func (e *Error) Unwrap() []error {
	return []error{&refusal.Error{Code: e.Code, Message: e.Message, Hint: e.Hint}, e.Err}
}

// errorOf returns the Error in the chain of err, or a zero Error, whose class is Passing.
func errorOf(err error) Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return *e
	}
	return Error{}
}

// ClassOf returns the class of any error of Send. The class of nil is Passing.
func ClassOf(err error) Class { return errorOf(err).Class }

// HintOf returns what to do about an error; empty if the error does not say.
func HintOf(err error) string { return errorOf(err).Hint }

// FormOf returns the form that an error of Send refuses; empty if it refuses more than a form.
func FormOf(err error) Form {
	if e := errorOf(err); e.Class == Permanent {
		return e.Form
	}
	return ""
}

// RetryAfterOf returns how long the platform wants to be left alone after an error of Send;
// 0 if it did not say.
func RetryAfterOf(err error) time.Duration { return max(0, errorOf(err).RetryAfter) }
