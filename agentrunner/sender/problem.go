package sender

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/longshore-bridge/longshore/internal/refusal"
)

// Problem is an error that the caller can act on. It is found before anything is
// sent, except partly_queued. Its texts are written for the model or person who made
// the call.
type Problem struct {
	Code    string // stable, for programs
	Message string // what is wrong, lower case, no period
	Hint    string // what to do about it
}

func (p *Problem) Error() string {
	if p.Hint == "" {
		return p.Message
	}
	return p.Message + ": " + p.Hint
}

// Text returns the problem as whole sentences.
func (p *Problem) Text() string {
	return capital(sentence(p.Message)) + after(capital(sentence(p.Hint)))
}

func problem(code, message, hint string) *Problem {
	return &Problem{Code: code, Message: message, Hint: hint}
}

// inFile says which of several files has the problem, and that nothing was sent.
func inFile(err error, i, of int) error {
	var p *Problem
	if of == 1 || !errors.As(err, &p) {
		return err
	}
	return problem(p.Code, fmt.Sprintf("nothing was sent, because of file %d of %d: %s", i+1, of, p.Message), p.Hint)
}

// dropProblem explains why a request could not be queued.
func (s *Sender) dropProblem(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return problem("no_queue", "there is no queue to send through: "+quoted(s.config.IPC)+" is missing",
			"this program must run inside an assistant's container, or with LONGSHORE_IPC set")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return problem("no_space", "there is no room left to queue it", "delete files that are no longer needed and call again")
	case errors.Is(err, fs.ErrPermission):
		return problem("no_queue", "the queue in "+quoted(s.config.IPC)+" cannot be written to",
			"the operator must let this program's user write to its messages directory")
	}
	return fmt.Errorf("queue request: %w", asProblem(err))
}

// asProblem turns a refusal of another package into a Problem.
func asProblem(err error) error {
	if r := refusal.Of(err); r != nil {
		return problem(r.Code, r.Message, r.Hint)
	}
	return err
}

// lacks is the problem of a tool that this way to the host does not have.
func lacks(tool, instead string) *Problem {
	return problem("not_supported", fmt.Sprintf("%s does not work from where this assistant runs", tool), instead)
}
