package channel

import (
	"errors"
	"fmt"
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

// Error is what Send returns when it knows more than that it went wrong.
type Error struct {
	Class      Class
	Code       string        // stable, for programs: "file_too_large", "not_a_member"
	Message    string        // for the agent and the operator; holds no host path
	Hint       string        // what to do about it; may be empty
	RetryAfter time.Duration // the platform's wish, for Passing; 0: none
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

// RetryAfterOf is how long the platform wants to be left alone after any error
// that Send returned; 0 where it did not say.
func RetryAfterOf(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return max(0, e.RetryAfter)
	}
	return 0
}
