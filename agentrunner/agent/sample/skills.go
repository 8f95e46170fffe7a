package sample

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
)

// foghorn is a voice note: two and a half seconds of Ogg Opus, made of four tones.
//
//go:embed foghorn.ogg
var foghorn []byte

// skill is a thing that the sample assistant makes and sends.
type skill struct {
	words  string   // an example of what asks for it
	comes  string   // what comes then
	things []string // the nouns by which members name it
	do     func(Agent, context.Context, agent.Turn) (string, error)
}

// skills is the one list of what members can ask for, what comes, and how it is made.
func skills() []skill {
	return []skill{
		{"send me the report", "a PDF and its chart", []string{"report"}, Agent.report},
		{"make a chart", "a picture, and its figures as a table", []string{"chart", "table", "csv"}, Agent.chart},
		{"plan my week", "a calendar file", []string{"week", "calendar", "plan"}, Agent.calendar},
		{"what can you do", "this list on a page", []string{"can"}, Agent.welcome},
		{"show a picture", "a picture", []string{"picture"}, Agent.picture},
		{"show a PDF", "a document of one page", []string{"pdf"}, Agent.document},
		{"show a voice note", "a foghorn", []string{"voice"}, Agent.voice},
		{"show markdown", "words with a form", []string{"markdown"}, Agent.markdown},
		{"show a schedule", "a table in words", []string{"schedule"}, Agent.schedule},
	}
}

// skillFor returns the skill that a message asks for, nil if it asks for none, and
// whether it is an order: a question or a noun alone may be about a member's file.
func skillFor(verb, rest string) (s *skill, ordered bool) {
	thing := verb
	switch verb {
	case "send", "make", "show", "draw", "plan", "give":
		thing, ordered = object(rest), true
	case "what":
		thing = object(rest)
	}
	for _, s := range skills() {
		if slices.Contains(s.things, thing) {
			return &s, ordered
		}
	}
	return nil, ordered
}

// abilities lists what members can write, in Markdown.
func abilities() string {
	var b strings.Builder
	for _, s := range skills() {
		fmt.Fprintf(&b, "- **%s**: %s\n", s.words, s.comes)
	}
	b.WriteString("- **send FILE**: a file of my workspace, such as: send inbox/photo.jpg\n" +
		"- **say TEXT**: the text as a message\n" +
		"- **ping**: whether my tools work")
	return b.String()
}

func (a Agent) report(ctx context.Context, t agent.Turn) (string, error) {
	r := a.today()
	chart, err := r.png()
	if err != nil {
		return "", err
	}
	best := fmt.Sprintf("%s containers in seven days; the best was %s with %d", thousands(r.boxes()), r.best().date.Format("Monday"), r.best().boxes)
	return a.send(ctx, t, fmt.Sprintf("Here is the report for %s, with its chart: %s containers from %d ships.", r.span(), thousands(r.boxes()), r.ships()),
		file{"harbour-week.pdf", r.pdf(), map[string]any{"caption": "The harbour's week, " + r.span()}},
		file{"harbour-week.png", chart, map[string]any{"caption": best}})
}

func (a Agent) chart(ctx context.Context, t agent.Turn) (string, error) {
	r := a.today()
	chart, err := r.png()
	if err != nil {
		return "", err
	}
	return a.send(ctx, t, fmt.Sprintf("Here is the chart for %s, and its figures as a table for your spreadsheet. The best day was %s, with %d containers.",
		r.span(), r.best().date.Format("Monday"), r.best().boxes),
		file{"harbour-week.png", chart, map[string]any{"alt": r.alt()}},
		file{"harbour-week.csv", r.csv(), nil})
}

func (a Agent) calendar(ctx context.Context, t agent.Turn) (string, error) {
	r := a.today()
	return a.send(ctx, t, fmt.Sprintf("Here is the harbour's coming week as a calendar file: %d days and %d ships, the first on %s. Open it to add them; the ships are invented.",
		len(r.days), r.ships(), r.arrival(0).Format("Monday at 15:04")),
		file{"harbour-plan.ics", r.calendar(), nil})
}

func (a Agent) welcome(ctx context.Context, t agent.Turn) (string, error) {
	return a.send(ctx, t, "Hello! I am the sample assistant: no model is behind me, but each file that I send is made when you ask, and takes the way of every file. "+
		"The page above lists what I can do. Try **send me the report**, or drop a file here.",
		file{"what-i-can-do.pdf", welcome(skills(), a.today().made), nil})
}

func (a Agent) picture(ctx context.Context, t agent.Turn) (string, error) {
	r := a.today()
	chart, err := r.png()
	if err != nil {
		return "", err
	}
	return a.send(ctx, t, "That was a picture: the week's containers.", file{"harbour-week.png", chart, map[string]any{"alt": r.alt()}})
}

func (a Agent) document(ctx context.Context, t agent.Turn) (string, error) {
	return a.send(ctx, t, "That was a PDF of one page.", file{"harbour-week.pdf", a.today().pdf(), nil})
}

func (a Agent) voice(ctx context.Context, t agent.Turn) (string, error) {
	return a.send(ctx, t, "That was the foghorn, as a voice note.", file{"foghorn.ogg", foghorn, map[string]any{"as": "voice"}})
}

func (a Agent) markdown(ctx context.Context, t agent.Turn) (string, error) {
	return a.say(ctx, t, markdown)
}

func (a Agent) schedule(ctx context.Context, t agent.Turn) (string, error) {
	return a.say(ctx, t, a.today().schedule())
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

// file is a file that the sample makes.
type file struct {
	name string
	data []byte
	show map[string]any // further arguments of send_files, such as its caption
}

// send writes files, sends them in one call, and returns done if the chat has them.
func (a Agent) send(ctx context.Context, t agent.Turn, done string, files ...file) (string, error) {
	var list []any
	for _, f := range files {
		path, err := a.write(f.name, f.data)
		if err != nil {
			return "", err
		}
		one := map[string]any{"file_path": path}
		maps.Copy(one, f.show)
		list = append(list, one)
	}
	answer, err := a.call(ctx, t, "send_files", map[string]any{"files": list})
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
