// Package cause names why an assistant does not answer. The drivers of the agent
// CLIs and the runtimes find the cause; the host tells it to the chat, the operator,
// the metrics and the log.
//
// A cause crosses the agent protocol as its text, so a text never changes its
// meaning. The package does not decide what is done about a cause, and has no words
// for members.
package cause

import (
	"errors"
	"slices"
)

// Cause is a kind of reason. The zero Cause is none.
type Cause string

// The causes.
const (
	Busy         Cause = "busy"               // the model's service asks for patience: status 429, 503 or 529
	Failing      Cause = "service_failing"    // the model's service reports an error of its own: status 500
	Unreachable  Cause = "unreachable"        // the model's service cannot be reached, or its answer was cut off
	Silent       Cause = "silent"             // the model's service took the request and does not answer
	Key          Cause = "key_not_accepted"   // status 401 or 403, or the CLI is not logged in
	Credit       Cause = "no_credit"          // status 402, or a quota is used up
	Budget       Cause = "budget_spent"       // the operator's budget for the group is used up
	NotInstalled Cause = "not_installed"      // there is no such program in the container or on the machine
	Tools        Cause = "no_tools"           // the CLI went on without our tools, or the host refused them
	Image        Cause = "image_missing"      // the container engine does not have the image
	Engine       Cause = "engine_away"        // the container engine does not answer
	Start        Cause = "engine_no_start"    // the container engine answers, and does not start the container
	Directory    Cause = "directory_unusable" // a directory that the assistant works in is missing, or it may not use it
	Mount        Cause = "mount_missing"      // a directory that the group shares is gone
	Setup        Cause = "setup_incomplete"   // a file or a setting that the assistant needs is missing or not allowed
	Memory       Cause = "out_of_memory"      // the kernel killed the assistant for its memory
	Slow         Cause = "timeout"            // the assistant was ended, because it took too long
	Stopped      Cause = "stopped"            // the assistant ended without an answer: it crashed, or somebody killed it
	Absent       Cause = "not_fetched"        // the assistant lives elsewhere, and does not fetch or acknowledge its messages
	Failed       Cause = "failed"             // everything else
)

// All lists the causes, in no order that matters.
func All() []Cause {
	return []Cause{Busy, Failing, Unreachable, Silent, Key, Credit, Budget, NotInstalled, Tools, Image, Engine, Start, Directory, Mount, Setup, Memory, Slow, Stopped, Absent, Failed}
}

// Permanent reports whether trying again is useless until somebody has corrected
// something.
func (c Cause) Permanent() bool {
	return slices.Contains([]Cause{Key, Credit, Budget, NotInstalled, Image, Start, Directory, Mount, Setup, Absent}, c)
}

// Parse returns the cause that a foreign text names. An empty text names none; an
// unknown one is Failed.
func Parse(text string) Cause {
	if c := Cause(text); c == "" || slices.Contains(All(), c) {
		return c
	}
	return Failed
}

// Error is an error whose cause is known.
type Error struct {
	Cause   Cause
	Err     error
	Package string // of the machine, that has to be installed; empty: none is known
}

// With returns err with a cause, for Of. The text stays the same.
func With(c Cause, err error) error { return &Error{Cause: c, Err: err} }

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Of returns the cause of an error: the outermost one that With gave it. It is empty
// for an error without a cause.
func Of(err error) Cause {
	if known, ok := errors.AsType[*Error](err); ok {
		return known.Cause
	}
	return ""
}

// Package returns the package that the cause of an error wants installed; empty: none is
// known. It is one of the host's own list, so a chat may see it.
func Package(err error) string {
	if known, ok := errors.AsType[*Error](err); ok {
		return known.Package
	}
	return ""
}
