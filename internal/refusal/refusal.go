// Package refusal is the one error type that crosses the mount. Its texts are
// written for the assistant and for the operator. All other errors stay in the
// host.
package refusal

import "errors"

// Error says that something is refused, why, and what to do about it. It is
// permanent: the same request is refused again until the hint is followed. Its
// texts never contain a host path.
type Error struct {
	Code    string `json:"code"`           // stable, for programs
	Message string `json:"message"`        // what is wrong; lower case except for names, no period
	Hint    string `json:"hint,omitempty"` // what to do about it; may be empty
}

// Error returns the message only.
func (e *Error) Error() string { return e.Message }

// Of returns the first refusal that err is or wraps, or nil.
func Of(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return nil
}
