// Package runtime runs one group's assistant, as a child process or in a
// container, and speaks the agent protocol of NanoClaw v1 with it.
//
// The protocol: the program gets one JSON document on stdin, then EOF. On
// stdout it writes any number of outputs, each a JSON object between two
// marker lines ([Parser]); whatever else it writes there is noise. What it
// writes to stderr is its log, kept for the operator in a bounded file
// ([Log]). Follow-up messages reach it as files in its input directory, which
// is not this package's part.
//
// A [Runtime] starts a [Session]; [Process] is the runtime that needs no
// container engine. It keeps host and assistant apart in nothing but their
// environment, and is meant for a demo and for a machine whose assistants are
// trusted.
//
// The package decides neither when an assistant runs nor what becomes of its
// words, and it keeps no state over a restart.
package runtime

import (
	"context"
	"errors"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
)

// Runtime starts assistants.
type Runtime interface {
	// Start starts the assistant that spec describes and returns once it
	// runs. The session outlives ctx, which bounds the start alone. An error
	// may pass; none is permanent by itself. One that is ErrAway says that
	// nothing was started, and that only what runs assistants has to come back.
	Start(ctx context.Context, spec Spec) (Session, error)
}

// Session is one running assistant. Its methods may be called from several
// goroutines.
type Session interface {
	// Outputs brings what the assistant says, in order. It is closed when
	// nothing more can come. Whoever started the session reads it until then;
	// an assistant that writes faster than it is read waits.
	Outputs() <-chan Output

	// Wait blocks until the assistant and everything it started have ended
	// and the session's goroutines too. Nil means that it ended by itself
	// and in good order; ErrStopped, that Stop ended it. The error is
	// ErrOutOfMemory too where the kernel killed some of it for that, and
	// ErrLost where it may still run, unheard.
	Wait() error

	// Stop asks the assistant to end, kills it with all it started when it
	// has not after a grace or when ctx is done, and returns when it is gone.
	// Outputs that nobody has read by then are dropped.
	Stop(ctx context.Context)
}

// The ends of a session that whoever started it has to tell apart.
var (
	ErrStopped     = errors.New("assistant was stopped")
	ErrOutOfMemory = errors.New("ran out of memory")
	ErrLost        = errors.New("lost sight of the container")
)

// ErrAway says that what runs assistants does not answer.
var ErrAway = errors.New("nothing runs assistants at the moment")

// Spec describes one session.
type Spec struct {
	Group   groups.Group
	Command []string          // the program and its arguments; empty: the runtime's default
	Agent   string            // which agent the program drives, as LONGSHORE_AGENT; may be empty
	Env     map[string]string // further environment, as the operator configured it
	Input   []byte            // written to stdin, followed by EOF
	Mounts  []mounts.Mount    // what the assistant sees
	WorkDir string            // the group's workspace, absolute, on the host
	IPC     string            // the group's ipc directory, absolute, on the host
	Temp    string            // for temporary files of an assistant without a container, absolute; the runtime makes and removes it; empty: none
	LogDir  string            // where assistant.log goes, absolute; empty: stderr is dropped
	TZ      string            // the time zone's IANA name; empty: UTC
}

// Status is how the work that an output ends went.
type Status string

// The statuses of the protocol.
const (
	Success Status = "success"
	Failure Status = "error"
)

// Output is one thing an assistant said. Everything in it is foreign text.
type Output struct {
	Status       Status  `json:"status"`
	Result       *string `json:"result"` // nil: nothing to say, the session's id may have changed
	NewSessionID string  `json:"newSessionId"`
	Error        string  `json:"error"` // why Status is Failure

	// Inputs are the names of the follow-ups that the assistant has read since
	// its last output. Nil: it does not tell, as v1's does not.
	Inputs []string `json:"inputs"`
}
