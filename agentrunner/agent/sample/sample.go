// Package sample is a small assistant that needs no model. It answers a handful of
// fixed sentences by calling the real tools, as any other assistant would. The demo
// and the self-test use it.
//
//	help                     what it can do
//	ping                     whether the tools work
//	say TEXT                 a message through send_message
//	send FILE                a file of the workspace through send_file
//	send me the report       harbour-week.pdf and harbour-week.png through send_files
//
// skills lists the other things that it makes and sends. A member's file comes back
// with a kind word. It understands only these sentences and remembers nothing.
package sample

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
	"github.com/longshore-bridge/longshore/media"
)

// Agent is the sample assistant.
type Agent struct {
	Tools []string         // program and arguments that start the MCP server, such as agentrunner mcp
	Dir   string           // directory for the report; empty: the working directory
	Now   func() time.Time // nil means time.Now
}

var _ agent.Agent = Agent{}

// Turn does what the last message of the prompt asks for.
func (a Agent) Turn(ctx context.Context, t agent.Turn) (agent.Reply, error) {
	text, err := a.answer(ctx, t)
	if ctx.Err() != nil {
		return agent.Reply{}, ctx.Err()
	}
	if err != nil {
		return agent.Reply{}, err
	}
	return agent.Reply{Text: text, Session: "sample"}, nil
}

func (a Agent) answer(ctx context.Context, t agent.Turn) (string, error) {
	asked := read(t.Prompt)
	if asked.text == "" && len(asked.files) == 0 && strings.HasPrefix(t.Prompt, "<") {
		return "", nil // notices alone, which ask for nothing
	}
	verb, rest := command(asked.text)
	s, ordered := skillFor(verb, rest)
	switch {
	case verb == "ping":
		answer, err := a.call(ctx, t, "chat_info", nil)
		return "Pong. " + answer.text, err
	case verb == "say" && rest != "":
		return a.say(ctx, t, rest)
	case s != nil && (ordered || len(asked.files) == 0):
		return s.do(a, ctx, t)
	case verb == "send" && rest != "":
		answer, err := a.call(ctx, t, "send_file", map[string]any{"file_path": rest})
		if answer.sent {
			return "There you are: " + filepath.Base(rest), nil
		}
		return answer.text, err
	case len(asked.files) > 0:
		return a.giveBack(ctx, t, asked.files)
	case verb == "help", verb == "":
		return "I am the sample assistant. Send me a file, and I send it back. Or write one of these:\n" + abilities(), nil
	}
	return fmt.Sprintf("Sorry, %q is more than I can do: I am the sample assistant, and no model is behind me. Send me a file, or write one of these:\n%s",
		short(verb+" "+rest), abilities()), nil
}

// command splits a message into its first word, in lower case, and the rest. It
// removes mentions, greetings and kind words at the start.
func command(message string) (verb, rest string) {
	message = strings.TrimSpace(message)
	for strings.HasPrefix(message, "@") {
		_, after, _ := strings.Cut(message, " ")
		message = strings.TrimSpace(after)
	}
	verb, rest, _ = strings.Cut(message, " ")
	verb = strings.ToLower(strings.Trim(verb, ".,:;!?"))
	switch verb {
	case "please", "hi", "hello", "can", "could", "you":
		return command(rest)
	}
	return verb, strings.TrimSpace(rest)
}

// object is the thing that a sentence names, in one word and in lower case; empty if
// it names none, such as a file whose name contains the word.
func object(s string) string {
	for _, word := range strings.Fields(strings.ToLower(s)) {
		switch word = strings.Trim(word, ",:;!?"); strings.TrimSuffix(word, ".") {
		case "me", "us", "the", "a", "an", "my", "your", "this", "next", "week's", "weekly", "please", "some":
		default:
			return strings.TrimSuffix(word, ".")
		}
	}
	return ""
}

func short(s string) string { return media.Cut(strings.TrimSpace(s), 60) }

// write replaces a file of the workspace in one step, since an earlier file of the
// same name may still be being sent.
func (a Agent) write(name string, data []byte) (string, error) {
	dir, err := filepath.Abs(a.Dir)
	if err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	path := filepath.Join(dir, name)
	temp := filepath.Join(dir, "."+name+".tmp")
	if err := os.WriteFile(temp, data, 0o644); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.Rename(temp, path); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	return path, nil
}
