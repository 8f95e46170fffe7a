package sample

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
)

// foghorn is a voice note: two and a half seconds of Ogg Opus, made of four tones.
//
//go:embed foghorn.ogg
var foghorn []byte

// shows is what the sample assistant does to show a thing; nil if it cannot.
func (a Agent) shows(thing string) func(context.Context, agent.Turn) (string, error) {
	switch thing {
	case "markdown":
		return func(ctx context.Context, t agent.Turn) (string, error) { return a.say(ctx, t, markdown) }
	case "schedule":
		return func(ctx context.Context, t agent.Turn) (string, error) { return a.say(ctx, t, a.today().schedule()) }
	case "picture", "chart":
		return a.picture
	case "pdf":
		return func(ctx context.Context, t agent.Turn) (string, error) {
			return a.send(ctx, t, "harbour-week.pdf", a.today().pdf(), nil, "That was a PDF of one page.")
		}
	case "voice":
		return func(ctx context.Context, t agent.Turn) (string, error) {
			return a.send(ctx, t, "foghorn.ogg", foghorn, map[string]any{"as": "voice"}, "That was the foghorn, as a voice note.")
		}
	}
	return nil
}

func (a Agent) picture(ctx context.Context, t agent.Turn) (string, error) {
	r := a.today()
	chart, err := r.png()
	if err != nil {
		return "", err
	}
	alt := fmt.Sprintf("A bar for each day's containers; the best day is %s with %d.", r.best().date.Format("Monday"), r.best().boxes)
	return a.send(ctx, t, "harbour-week.png", chart, map[string]any{"alt": alt}, "That was a picture: the week's containers.")
}

func (a Agent) today() report {
	now := time.Now
	if a.Now != nil {
		now = a.Now
	}
	return newReport(now())
}

// say sends a text through send_message.
func (a Agent) say(ctx context.Context, t agent.Turn, text string) (string, error) {
	answer, err := a.call(ctx, t, "send_message", map[string]any{"text": text})
	if answer.sent {
		return "", nil // the text is in the chat; there is nothing to add
	}
	return answer.text, err
}

// send writes a file and sends it through send_file.
func (a Agent) send(ctx context.Context, t agent.Turn, name string, data []byte, arguments map[string]any, done string) (string, error) {
	path, err := a.write(name, data)
	if err != nil {
		return "", err
	}
	all := map[string]any{"file_path": path}
	for key, value := range arguments {
		all[key] = value
	}
	answer, err := a.call(ctx, t, "send_file", all)
	if answer.sent {
		return done, nil
	}
	return answer.text, err
}

const markdown = `## What I can write

Words can be **bold**, *italic*, ~~struck~~ or ` + "`code`" + `, and a [link](https://example.org) has words of its own.

1. a list
2. with numbers

> A quote stands apart.

| ship | containers |
|---|---:|
| Anna | 412 |
| Bruno | 538 |
`

// schedule is the coming week's plan, in words.
func (r report) schedule() string {
	var b strings.Builder
	b.WriteString("## The harbour's coming week\n\n| day | ships expected | first at |\n|---|---:|---|\n")
	for i, d := range r.days {
		fmt.Fprintf(&b, "| %s | %d | %02d:00 |\n", r.made.AddDate(0, 0, i+1).Format("Monday, 2 January"), d.ships, 6+i%3)
	}
	b.WriteString("\nThe ships are invented, and this is a plan in words only: I do not remind you of it.")
	return b.String()
}
