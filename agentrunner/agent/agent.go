// Package agent drives an assistant through the turns of a conversation and
// speaks NanoClaw v1's agent protocol with the host while it does.
//
//	stdin                 one JSON document: prompt, session, whose chat it is
//	stdout                any number of marked outputs, one for each turn that ends
//	stderr                logs
//	<ipc>/input/*.json    follow-up messages, taken in the order of their names
//	<ipc>/input/_close    ends the conversation
//
// A follow-up that arrives while a turn runs is part of the next turn. The
// package does not know what assistants do, nor how files are sent: an
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
