// Package runtime runs one group's assistant, as a child process or in a
// container, and speaks NanoClaw v1's agent protocol with it.
//
// The protocol: the program gets one JSON document on stdin, then EOF. On
// stdout it writes any number of outputs, each a JSON object between two marker
// lines ([Parser]); everything else there is ignored. Its stderr is a log, kept
// for the operator in a bounded file ([Log]). Follow-up messages reach the
// program as files in its input directory; another package writes them.
//
// A [Runtime] starts a [Session]. [Process] is the runtime that needs no
// container engine. It separates host and assistant only by their environment,
// and is meant for a demo and for a machine whose assistants are trusted.
//
// The package does not decide when an assistant runs or what happens with its
// answers, and keeps no state over a restart.
package runtime

import (
	"context"
	"errors"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/internal/cause"
)

// Runtime starts assistants.
type Runtime interface {
	// Start starts the assistant that spec describes and returns when it runs.
	// ctx limits only the start; the session outlives it. Every error may be
	// temporary. ErrAway means that nothing was started because the engine does
	// not answer. If the reason is known, cause.Of returns it.
	Start(ctx context.Context, spec Spec) (Session, error)
}

// Session is one running assistant. Its methods may be called concurrently. The
// session owns its goroutines; they have ended when Wait returns.
type Session interface {
	// Outputs delivers the assistant's outputs, in order, and is closed after
	// the last one. The caller of Start must read it until then. An assistant
	// that writes faster than the outputs are read has to wait.
	Outputs() <-chan Output

	// Wait blocks until the assistant, everything it started, and the session's
	// goroutines have ended. Nil means that the assistant ended by itself and
	// without error, ErrStopped that Stop ended it. The error is also
	// ErrOutOfMemory if the kernel killed a part of the assistant for its
	// memory, and ErrLost if the container may still be running.
	Wait() error

	// Stop asks the assistant to end. It kills the assistant and everything it
	// started after a grace period or when ctx is done, and returns when all
	// have ended. Outputs that nobody has read by then are discarded.
	Stop(ctx context.Context)
}

// The errors of Wait that a caller must tell apart.
var (
	ErrStopped     = errors.New("the assistant was stopped")
	ErrOutOfMemory = cause.With(cause.Memory, errors.New("ran out of memory"))
	ErrLost        = errors.New("lost contact with the container")
)

// ErrAway means that the engine that runs assistants does not answer.
var ErrAway = cause.With(cause.Engine, errors.New("the container engine does not answer"))

// Spec describes one session.
type Spec struct {
	Group   groups.Group
	Engine  string            // name of the container engine; empty: there is one
	Place   int               // which of the group's assistants that run at the same time, from 0; only a container can have another than 0
	Command []string          // the program and its arguments; empty: the runtime's default
	Agent   string            // agent that the program drives, as LONGSHORE_AGENT; may be empty
	Env     map[string]string // further environment, from the operator's configuration
	Input   []byte            // written to stdin, followed by EOF
	Mounts  []mounts.Mount    // what the assistant can see
	Thread  string            // of the chat, in which the members wrote; may be empty
	WorkDir string            // the group's workspace, absolute, on the host
	IPC     string            // the group's ipc directory, absolute, on the host
	Temp    string            // directory for temporary files of an assistant without a container, absolute; the runtime creates and removes it; empty: none
	LogDir  string            // directory of assistant.log, absolute; empty: stderr is discarded
	Model   string            // directory of the socket to the model's keys, absolute, on the host; only a container can have one; empty: none
	TZ      string            // IANA name of the time zone; empty: UTC
}

// Status is the result of the work that an output ends.
type Status string

// The statuses of the protocol.
const (
	Success Status = "success"
	Failure Status = "error"
	Waiting Status = "waiting" // the work goes on: see Output.Cause
)

// Output is one output of an assistant. All of it is untrusted text.
type Output struct {
	Status       Status  `json:"status"`
	Result       *string `json:"result"` // nil: no text; the session's id may have changed
	NewSessionID string  `json:"newSessionId"`
	Error        string  `json:"error"` // why Status is Failure or Waiting, in words

	// Cause is the kind of Error. Of Waiting, an empty one says that the model
	// answers again, and Seconds how long it has not answered. An assistant sends
	// Waiting only to a host that asks for it in the document.
	Cause   string `json:"cause"`
	Seconds int    `json:"seconds"`

	// Inputs are the names of the follow-ups that the assistant has read since
	// its last output. Nil: the assistant does not report them, as v1's does
	// not.
	Inputs []string `json:"inputs"`

	// Usage is what the model's service charges for since the last output but Waiting.
	// Nil: the assistant does not say.
	Usage *Usage `json:"usage"`
}

// Usage is the assistant's word.
type Usage struct {
	Input  int64   `json:"input_tokens"`
	Cached int64   `json:"cached_tokens"` // part of Input
	Output int64   `json:"output_tokens"`
	Cost   float64 `json:"cost_usd"` // 0: not said
}
