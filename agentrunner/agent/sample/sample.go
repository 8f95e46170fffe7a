// Package sample is a small assistant that needs no model. It answers a handful of
// fixed sentences by calling the real tools, as any other assistant would. The demo
// and the self-test use it.
//
//	help                     what it can do
//	ping                     whether the tools work
//	say TEXT                 a message through send_message
//	send FILE                a file of the workspace through send_file
//	send me the report       harbour-week.pdf and harbour-week.png through send_files
//	show markdown, show a picture, a PDF, a voice note, a schedule
//
// A member's file comes back with a kind word. It understands only these sentences
// and remembers nothing.
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
	thing, gives := object(rest), verb == "send" || verb == "make" || verb == "show"
	switch {
	case verb == "ping":
		answer, err := a.call(ctx, t, "chat_info", nil)
		return "Pong. " + answer.text, err
	case verb == "say" && rest != "":
		return a.say(ctx, t, rest)
	case gives && thing == "report", object(verb) == "report":
		return a.report(ctx, t)
	case gives && a.shows(thing) != nil:
		return a.shows(thing)(ctx, t)
	case verb == "send" && rest != "":
		answer, err := a.call(ctx, t, "send_file", map[string]any{"file_path": rest})
		if answer.sent {
			return "There you are: " + filepath.Base(rest), nil
		}
		return answer.text, err
	case len(asked.files) > 0:
		return a.giveBack(ctx, t, asked.files)
	case verb == "help", verb == "":
		return help, nil
	}
	return fmt.Sprintf("I am only the sample assistant and do not know what to do with %q. Write \"help\" to see what I can do.", short(verb+" "+rest)), nil
}

const help = `I am the sample assistant. Send me a file, and I send it back. Or write one of these:
- send me the report: I make a PDF and a chart and send both
- show markdown, show a picture, show a PDF, show a voice note, show a schedule
- send FILE: I send a file of my workspace, such as: send inbox/photo.jpg
- say TEXT: I send TEXT as a message
- ping: I check whether my tools work`

// command splits a message into its first word, in lower case, and the rest. It
// removes mentions and greetings at the start.
func command(message string) (verb, rest string) {
	message = strings.TrimSpace(message)
	for strings.HasPrefix(message, "@") {
		_, after, _ := strings.Cut(message, " ")
		message = strings.TrimSpace(after)
	}
	verb, rest, _ = strings.Cut(message, " ")
	verb = strings.ToLower(strings.Trim(verb, ".,:;!?"))
	if verb == "please" || verb == "hi" || verb == "hello" {
		return command(rest)
	}
	return verb, strings.TrimSpace(rest)
}

// object is the thing that a sentence names, in one word and in lower case; empty if
// it names none, such as a file whose name contains the word.
func object(s string) string {
	for _, word := range strings.Fields(strings.ToLower(s)) {
		switch word = strings.Trim(word, ",:;!?"); strings.TrimSuffix(word, ".") {
		case "me", "us", "the", "a", "an", "your", "this", "week's", "weekly", "please", "some":
		default:
			return strings.TrimSuffix(word, ".")
		}
	}
	return ""
}

func short(s string) string { return media.Cut(strings.TrimSpace(s), 60) }

// report writes both files and sends them in one call.
func (a Agent) report(ctx context.Context, t agent.Turn) (string, error) {
	r := a.today()
	chart, err := r.png()
	if err != nil {
		return "", err
	}
	pdfPath, err := a.write("harbour-week.pdf", r.pdf())
	if err != nil {
		return "", err
	}
	pngPath, err := a.write("harbour-week.png", chart)
	if err != nil {
		return "", err
	}
	answer, err := a.call(ctx, t, "send_files", map[string]any{"files": []any{
		map[string]any{"file_path": pdfPath, "caption": "The harbour's week, " + r.span()},
		map[string]any{"file_path": pngPath, "caption": fmt.Sprintf("%s containers in seven days; the best was %s with %d",
			thousands(r.boxes()), r.best().date.Format("Monday"), r.best().boxes)},
	}})
	if answer.sent {
		return fmt.Sprintf("Here is the report for %s, with its chart: %s containers from %d ships.", r.span(), thousands(r.boxes()), r.ships()), nil
	}
	return answer.text, err
}

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
