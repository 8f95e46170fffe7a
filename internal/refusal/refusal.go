// Package refusal is the one error that crosses the mount: its words were
// chosen for the assistant, and for the operator beside it. All other errors
// stay with the host.
package refusal

import "errors"

// Error says that something is not accepted, why, and what to do about it. It
// is permanent: the same request is refused again until the hint was followed.
// None of its words holds a host path.
type Error struct {
	Code    string `json:"code"`           // stable, for programs
	Message string `json:"message"`        // what is wrong, lower case but for names, no period
	Hint    string `json:"hint,omitempty"` // what to do about it; may be empty
}

// Error is the message alone.
func (e *Error) Error() string { return e.Message }

// Of is the first refusal that err is, wraps or unwraps to, or nil.
func Of(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}
