// Package agent drives an assistant through the turns of a conversation and speaks
// NanoClaw v1's agent protocol with the host.
//
//	stdin                 one JSON document: prompt, session, whose chat it is
//	stdout                any number of marked outputs, one for each turn that ends
//	stderr                logs
//	<ipc>/input/*.json    follow-up messages, taken in the order of their names
//	<ipc>/input/_close    ends the conversation
//
// A follow-up that arrives during a turn is offered to that turn ([Turn].FollowUps).
// If the turn does not take it up, it becomes part of the next turn. The file leaves
// input/ when the assistant has taken up its text. Each output names the files that
// left since the previous output. So the host knows which messages an output
// answers, which were lost if an assistant died, and which to give to the next
// assistant.
//
// The package does not know what assistants do or how files are sent: an assistant
// calls the tools itself.
package agent

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/internal/cause"
)

// Agent answers prompts. It serves one conversation, one turn at a time.
type Agent interface {
	// Turn answers one prompt and returns when the answer is complete. When ctx
	// ends, the host stops the conversation: Turn then ends everything it started
	// and returns soon. Any error ends the conversation; its text reaches the host.
	Turn(ctx context.Context, t Turn) (Reply, error)
}

// Turn is the input of one turn.
type Turn struct {
	Prompt  string   // what the members wrote, in the host's markup
	Session string   // session name from the last Reply; empty for a new conversation
	Env     []string // KEY=value for the programs that the turn starts, in addition to the process's environment

	// FollowUps delivers the messages that members write during the turn. Some
	// agents cannot receive them; messages that the turn leaves become the next
	// prompt. May be nil.
	FollowUps <-chan FollowUp

	// Say passes on an answer that is not the turn's last: a follow-up that arrived
	// during an answer gets an answer of its own. If Say is nil, only the last
	// answer counts.
	Say func(Reply) error

	// Trouble reports what keeps the model from answering, while the turn goes on,
	// and the end of that. It is called from one goroutine at a time, also while
	// Say runs. May be nil.
	Trouble func(Trouble)

	// Used reports what a run of the CLI has used, before the Say or the end that comes
	// next. May be nil.
	Used func(Usage)
}

// Usage is what the model's service charges for, as far as the CLI says.
type Usage struct {
	Input  int64   `json:"input_tokens"`
	Cached int64   `json:"cached_tokens"` // part of Input
	Output int64   `json:"output_tokens"`
	Cost   float64 `json:"cost_usd,omitempty"` // by the CLI's own price list; 0: not said
}

func (u Usage) plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Cached + v.Cached, u.Output + v.Output, u.Cost + v.Cost}
}

// Trouble is what keeps a turn from its answer at the moment.
type Trouble struct {
	Cause  cause.Cause   // empty: nothing, any more
	Detail string        // in the CLI's words, for the operator
	For    time.Duration // how long the model has not answered
}

// FollowUp is offered to a running turn.
type FollowUp struct {
	Text string

	// Taken is called when the turn has taken the text up, before the Say or the end
	// of the turn that answers it. A text for which Taken was not called becomes
	// part of the next turn. Taken must not be called while Say runs.
	Taken func() error
}

// Getenv returns the value of a variable as the programs of the turn see it.
func (t Turn) Getenv(name string) string {
	for i := len(t.Env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(t.Env[i], name+"="); ok {
			return v
		}
	}
	return os.Getenv(name)
}

// Reply is an Agent's answer.
type Reply struct {
	Text    string // for the chat; empty: nothing is sent
	Session string // name for resuming the conversation; empty: it cannot be resumed
}
