// Package agent drives an assistant through the turns of a conversation and
// speaks NanoClaw v1's agent protocol with the host while it does.
//
//	stdin                 one JSON document: prompt, session, whose chat it is
//	stdout                any number of marked outputs, one for each turn that ends
//	stderr                logs
//	<ipc>/input/*.json    follow-up messages, taken in the order of their names
//	<ipc>/input/_close    ends the conversation
//
// A follow-up that arrives while a turn runs is offered to that turn
// ([Turn].FollowUps); what the turn does not take up is part of the next. A
// file leaves input/ once the assistant has taken up what it holds, and each
// output names the files that left since the one before it. So a host knows
// what an output answers, what was lost with an assistant that died, and what
// to give to the next.
//
// The package does not know what assistants do, nor how files are sent: an
// assistant calls the tools itself.
package agent

import (
	"context"
	"os"
	"strings"
)

// Agent answers prompts. It serves one conversation, one turn at a time.
type Agent interface {
	// Turn answers one prompt and returns once the answer is whole. When ctx
	// ends the host stops the conversation: Turn ends what it started and
	// returns soon. Any error ends the conversation; its text reaches the host.
	Turn(ctx context.Context, t Turn) (Reply, error)
}

// Turn is what an Agent is asked.
type Turn struct {
	Prompt  string   // what the members wrote, in the host's markup
	Session string   // what the last Reply called it; empty for a new conversation
	Env     []string // KEY=value for the programs that the turn starts, on top of the process's own

	// FollowUps brings what the members write while the turn runs. Not every
	// agent can listen then: what it leaves becomes the next prompt. May be nil.
	FollowUps <-chan FollowUp

	// Say passes on an answer that is not the turn's last: a follow-up that came
	// while it was made has one of its own. May be nil; then only the last counts.
	Say func(Reply) error
}

// FollowUp is offered to a running turn.
type FollowUp struct {
	Text string

	// Taken is called once the turn has taken the text up, and before a Say or
	// the end of the turn that answers it. A text for which it was not called is
	// part of the next turn. Not to be called while Say runs.
	Taken func() error
}

// Getenv looks a variable up as the programs of the turn would.
func (t Turn) Getenv(name string) string {
	for i := len(t.Env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(t.Env[i], name+"="); ok {
			return v
		}
	}
	return os.Getenv(name)
}

// Reply is what an Agent answers.
type Reply struct {
	Text    string // for the chat; empty: nothing is said
	Session string // under which the conversation is taken up again; empty: it cannot be
}
