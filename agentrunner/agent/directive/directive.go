// Package directive sends the files that an assistant names in its answer, for
// assistants that do not call a tool. Each directive is a line of its own:
//
//	MEDIA:/workspace/group/chart.png
//	[HERDCTL_FILE_SEND] /workspace/group/chart.png
//	![The visits of each month](chart.png)
//	[[audio_as_voice]]
//
// The first three send a file, and the line is removed from the text; the third says
// what the picture shows. [[audio_as_voice]] sends the audio files of the same answer
// as voice messages. Lines in a code fence and web addresses stay text. If a file cannot be sent, its line is replaced by its
// name and the reason.
//
// The files go through the queue like those of a tool call, so the host checks them
// in the same way. LONGSHORE_DIRECTIVES=0 turns the package off.
package directive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// Agent sends the files that the answers of another agent name.
type Agent struct {
	Next agent.Agent
	Log  *slog.Logger // nil means discard
}

var _ agent.Agent = Agent{}

// Turn runs the other agent, sends the files that each answer names, and passes on
// the rest of the text. It passes a text on after the host has accepted or refused
// the files, or the files are queued.
func (a Agent) Turn(ctx context.Context, t agent.Turn) (agent.Reply, error) {
	if t.Getenv("LONGSHORE_DIRECTIVES") == "0" {
		return a.Next.Turn(ctx, t)
	}
	if say := t.Say; say != nil {
		t.Say = func(r agent.Reply) error {
			r, err := a.send(ctx, t, r)
			if err != nil {
				return err
			}
			return say(r)
		}
	}
	reply, err := a.Next.Turn(ctx, t)
	if err != nil {
		return reply, err
	}
	return a.send(ctx, t, reply)
}

// send removes the directives from one answer and executes them.
func (a Agent) send(ctx context.Context, t agent.Turn, reply agent.Reply) (agent.Reply, error) {
	pieces, voice := parse(reply.Text)
	if len(pieces) == 1 && pieces[0].file.Path == "" && !voice {
		return reply, nil
	}
	config, err := sender.FromEnv(t.Getenv)
	if err != nil {
		return agent.Reply{}, err
	}
	m := messenger{sender: sender.New(config), voice: voice, log: a.Log}
	m.log = cmp.Or(m.log, slog.New(slog.DiscardHandler))
	var text []string
	for _, p := range pieces {
		words := p.text
		if p.file.Path != "" {
			words = m.send(ctx, p.file)
		}
		if words != "" {
			text = append(text, words)
		}
	}
	reply.Text = strings.TrimSpace(strings.Join(text, "\n"))
	return reply, nil
}

// piece is some lines of an answer, or the file of a directive.
type piece struct {
	text string
	file sender.File // with Path and Alt
}

// parse splits an answer into text and directives, in order.
func parse(answer string) (pieces []piece, voice bool) {
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			pieces = append(pieces, piece{text: strings.TrimRight(text.String(), "\r\n")})
			text.Reset()
		}
	}
	fence := ""
	for line := range strings.Lines(answer) {
		bare := strings.TrimSpace(line)
		if mark := fenceOf(bare); mark != "" && (fence == "" || strings.HasPrefix(bare, fence)) {
			if fence == "" {
				fence = mark
			} else {
				fence = ""
			}
		} else if fence == "" {
			if bare == "[[audio_as_voice]]" {
				voice = true
				continue
			}
			if file := fileOf(bare); file.Path != "" {
				flush()
				pieces = append(pieces, piece{file: file})
				continue
			}
		}
		text.WriteString(line)
	}
	flush()
	return pieces, voice
}

func fenceOf(line string) string {
	for _, mark := range []string{"```", "~~~"} {
		if strings.HasPrefix(line, mark) {
			return mark
		}
	}
	return ""
}

// fileOf returns the file of a directive line. Its path is empty if the line is not a
// directive.
func fileOf(line string) sender.File {
	for _, mark := range []string{"MEDIA:", "[HERDCTL_FILE_SEND]"} {
		if path, ok := strings.CutPrefix(line, mark); ok {
			return sender.File{Path: pathOf(path)}
		}
	}
	return pictureOf(line)
}

// pathOf returns a path without the quotes that models often put around it, empty if
// it is a web address.
func pathOf(path string) string {
	path = strings.TrimSpace(path)
	for _, quotes := range []string{"``", `""`, "''", "<>"} {
		if len(path) > 2 && path[0] == quotes[0] && path[len(path)-1] == quotes[1] {
			path = strings.TrimSpace(path[1 : len(path)-1])
		}
	}
	if lower := strings.ToLower(path); strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://") || strings.HasPrefix(lower, "data:") {
		return ""
	}
	return path
}

// pictureOf reads a line that is one Markdown picture and nothing else:
// ![alt](path), ![alt](<path>) or ![alt](path "title").
func pictureOf(line string) sender.File {
	rest, ok := strings.CutPrefix(line, "![")
	alt, target, cut := strings.Cut(rest, "](")
	target, closed := strings.CutSuffix(target, ")")
	if !ok || !cut || !closed || strings.ContainsAny(alt, "[]") || strings.Contains(target, "](") {
		return sender.File{}
	}
	target = strings.TrimSpace(target)
	if quote := strings.LastIndexAny(target, "\"'"); quote > 0 && quote == len(target)-1 {
		if start := strings.LastIndex(target[:quote], " "+target[quote:]); start > 0 {
			target = target[:start]
		}
	}
	path := pathOf(target)
	scheme, _, remote := strings.Cut(path, ":")
	if remote && !strings.ContainsAny(scheme, "/.") && !strings.EqualFold(scheme, "file") { // such as cid: or mailto:
		return sender.File{}
	}
	if plain, err := url.PathUnescape(path); err == nil && utf8.ValidString(plain) && !strings.ContainsRune(plain, ':') && !strings.ContainsFunc(plain, unicode.IsControl) {
		path = plain // Markdown writes a space as %20
	}
	return sender.File{Path: path, Alt: media.Cut(alt, ipc.MaxAlt/4)}
}

// messenger sends the files of one answer.
type messenger struct {
	sender *sender.Sender
	voice  bool
	noWait bool // the host did not answer in time; further files are only queued
	sent   int
	log    *slog.Logger
}

// send sends one file and returns a text for the members if that fails; empty if the
// file has been sent or is still being sent.
func (m *messenger) send(ctx context.Context, file sender.File) string {
	name := filepath.Base(file.Path)
	if m.sent++; m.sent > ipc.MaxFiles {
		return fmt.Sprintf("(%s was not sent: more than %d files in one answer.)", name, ipc.MaxFiles)
	}
	report, err := m.try(ctx, file)
	var p *sender.Problem
	switch {
	case errors.As(err, &p):
		m.log.Warn("a file named in the answer was not sent", "code", p.Code)
		return fmt.Sprintf("(%s was not sent. %s)", name, p.Text())
	case err != nil:
		m.log.Error("sending a file named in the answer did not work", "error", err)
		return fmt.Sprintf("(%s could not be sent.)", name)
	case report.Failed():
		m.log.Warn("a file named in the answer was not sent", "code", report.Code, "request", report.ID)
		return fmt.Sprintf("(%s: %s)", name, report.Summary)
	}
	m.noWait = m.noWait || report.Status == string(ipc.Queued)
	return ""
}

func (m *messenger) try(ctx context.Context, file sender.File) (sender.Report, error) {
	o := sender.Options{NoWait: m.noWait}
	if m.voice && isAudio(file.Path) {
		voice := file
		voice.As = "voice"
		report, err := m.sender.SendFiles(ctx, []sender.File{voice}, o)
		var p *sender.Problem
		if !errors.As(err, &p) || p.Code != "style_impossible" {
			return report, err
		}
	}
	return m.sender.SendFiles(ctx, []sender.File{file}, o)
}

func isAudio(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".ogg", ".oga", ".opus", ".mp3", ".m4a", ".aac", ".wav", ".flac":
		return true
	}
	return false
}
