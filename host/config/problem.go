package config

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"

	"github.com/longshore-bridge/longshore/host/channel"
)

// Problem is one thing that is wrong in the configuration file.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`          // from 1; 0: not known
	Column  int    `json:"column"`        // from 1, in characters; 0: not known
	Key     string `json:"key,omitempty"` // "groups[1].chat"
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	excerpt string // the line up to its key, with a caret below
}

// Error is the place and what is wrong, the line with a caret, and what to do.
func (p *Problem) Error() string {
	text := p.Place() + p.Message + p.excerpt
	if p.Hint != "" {
		text += "\n  hint: " + p.Hint
	}
	return text
}

// Place is where the problem lies, to be put before its message.
func (p *Problem) Place() string {
	place := p.File
	if p.Line > 0 {
		place += fmt.Sprintf(":%d", p.Line)
	}
	if p.Key != "" {
		place += ": " + p.Key
	}
	return place + ": "
}

// source is the text of a configuration file, the place of each key in it, and
// what is wrong with it.
type source struct {
	name     string
	text     []byte
	lines    []string
	places   map[string]*token.Position // by key path: "groups[1].chat"
	problems []*Problem

	platforms []channel.Platform // that the file may name
}

func newSource(name string, b []byte, platforms []channel.Platform) *source {
	// One kind of line's end, so that lines are counted as the parser does.
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(b))
	return &source{name: name, text: []byte(text), lines: strings.Split(text, "\n"), places: make(map[string]*token.Position), platforms: platforms}
}

// bad notes a problem with the value at key. A key that is absent stands at
// the nearest one above it.
func (s *source) bad(key, message, hint string) {
	if s.refused(key) {
		return // the first one says why the value is not what it should be
	}
	at := key
	for s.places[at] == nil && at != "" {
		at = parentKey(at)
	}
	s.badAt(s.places[at], key, message, hint)
}

func (s *source) badAt(pos *token.Position, key, message, hint string) {
	s.problems = append(s.problems, s.problem(pos, key, message, hint))
}

func (s *source) problem(pos *token.Position, key, message, hint string) *Problem {
	p := &Problem{File: s.name, Line: 1, Column: 1, Key: printable(key), Message: printable(message), Hint: hint}
	if pos != nil {
		p.Line, p.Column = min(max(pos.Line, 1), len(s.lines)), pos.Column
	}
	p.excerpt = s.excerpt(p.Line, p.Column)
	return p
}

// refused says whether a problem with the value at key was noted.
func (s *source) refused(key string) bool {
	shown := printable(key)
	return slices.ContainsFunc(s.problems, func(p *Problem) bool { return p.Key == shown && key != "" })
}

// has says whether the file holds key, even with nothing behind it.
func (s *source) has(key string) bool { return s.places[key] != nil }

// line is where key stands.
func (s *source) line(key string) int {
	if pos := s.places[key]; pos != nil {
		return pos.Line
	}
	return 1
}

// printable makes foreign text fit for a terminal and a log: control and bidi
// characters in it show as a mark.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// keyAhead is a key and its colon, at the start of what is left of a line.
var keyAhead = regexp.MustCompile(`^[A-Za-z0-9_.-]+ *:( |$)`)

// excerpt shows a line with a caret at column, and of the line only the key
// that stands there: anything else may be a secret, and this goes to logs.
// What stands before the key on the same line shrinks to one mark.
func (s *source) excerpt(line, column int) string {
	text := []rune(s.lines[line-1])
	if column < 1 || column > len(text) {
		return ""
	}
	before := string(text[:column-1])
	if indent := strings.TrimLeft(before, " -"); indent != "" {
		before = strings.TrimSuffix(before, indent) + "… "
	}
	shown := "…"
	if key := keyAhead.FindString(string(text[column-1:])); key != "" {
		shown = strings.TrimSuffix(key, " ") + " …"
	}
	number := fmt.Sprintf("%5d | ", line)
	return "\n" + number + before + shown + "\n" + strings.Repeat(" ", len(number)-2) + "| " + strings.Repeat(" ", utf8.RuneCountInString(before)) + "^"
}

// err joins the problems in the order of the file.
func (s *source) err() error {
	inOrder(s.problems)
	errs := make([]error, len(s.problems))
	for i, p := range s.problems {
		errs[i] = p
	}
	return errors.Join(errs...)
}

func inOrder(problems []*Problem) {
	slices.SortStableFunc(problems, func(a, b *Problem) int { return cmp.Compare(a.Line, b.Line) })
}

// parentKey is the key path that holds key: "groups[1]" for "groups[1].chat".
func parentKey(key string) string {
	if i := strings.LastIndexAny(key, ".["); i >= 0 {
		return key[:i]
	}
	return ""
}
