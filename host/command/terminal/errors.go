package terminal

import "errors"

// Exit codes, the same for every command.
const (
	ExitOK      = 0
	ExitFault   = 1 // something went wrong; the text says what
	ExitUsage   = 2 // the command line is wrong
	ExitRefused = 3 // a request, a file or the command itself was refused
	ExitFailed  = 4 // a delivery failed, or what the command checked is not well
	exitPending = 5 // kept, not yet sent

	ExitLost = 7 // the host of a cluster owns no longer

	ExitInterrupted = 130 // a signal ended the command before it was done, as in a shell
)

// Error carries an exit code and a hint to command.Run, which prints it.
type Error struct {
	Code int
	Err  error
	Hint string
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Usage returns an error of the command line, with exit code 2.
func Usage(message, hint string) error {
	return &Error{Code: ExitUsage, Err: errors.New(message), Hint: hint}
}

// Hinted adds to an error what to do about it. The exit code becomes 1.
func Hinted(err error, hint string) error {
	return &Error{Code: ExitFault, Err: err, Hint: hint}
}
