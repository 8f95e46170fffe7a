package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// Problem is one mistake in the configuration file.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`          // from 1; 0: not known
	Column  int    `json:"column"`        // from 1, in characters; 0: not known
	Key     string `json:"key,omitempty"` // "groups[1].chat"
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	Part    string `json:"part,omitempty"` // what it keeps down: "channel slack"; empty: the whole file is refused
	Denied  bool   `json:"-"`              // it is a mount that may not be
	excerpt string // the line, with a caret below
}

// Error returns the position and what is wrong, the line with a caret, and what to do.
func (p *Problem) Error() string {
	text := p.Position() + p.Message + p.excerpt
	if p.Hint != "" {
		text += "\n  hint: " + p.Hint
	}
	return text
}

// Text is Error without the hint, on one line.
func (p *Problem) Text() string {
	text := p.Position() + p.Message
	if _, line, ok := strings.Cut(p.excerpt, " | "); ok {
		line, _, _ = strings.Cut(line, "\n")
		text += ", in the line: " + strings.TrimSpace(line)
	}
	return text
}

// ProblemsOf returns the problems that an error joins, such as one of Parse.
func ProblemsOf(err error) []*Problem {
	problems := []*Problem{}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, one := range joined.Unwrap() {
			problems = append(problems, ProblemsOf(one)...)
		}
		return problems
	}
	if p, ok := errors.AsType[*Problem](err); ok {
		problems = append(problems, p)
	}
	return problems
}

// Position returns where the problem is in the file, in the form that stands before its message.
func (p *Problem) Position() string {
	at := p.File
	if p.Line > 0 {
		at += fmt.Sprintf(":%d", p.Line)
	}
	if p.Line > 0 && p.Column > 0 {
		at += fmt.Sprintf(":%d", p.Column)
	}
	if p.Key != "" {
		at += ": " + p.Key
	}
	return at + ": "
}

// source is the text of a configuration file, the position of each key, and the
// problems found.
type source struct {
	name      string
	text      []byte
	lines     []string
	positions map[string]*position // by key path: "groups[1].chat"
	problems  []*Problem

	platforms []channel.Platform // that the file may name
}

// position is where a key stands, or an element of a list.
type position struct {
	key   *token.Position
	value int  // the column where its value begins on the same line; 0: elsewhere
	shown bool // the value cannot be a secret
}

func newSource(name string, b []byte, platforms []channel.Platform) *source {
	// One kind of line's end, so that lines are counted as the parser does.
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(plainText(string(b)))
	return &source{name: name, text: []byte(text), lines: strings.Split(text, "\n"), positions: make(map[string]*position), platforms: platforms}
}

// note records where the key at a path stands, and its value.
func (s *source) note(at string, pos *token.Position, value ast.Node, shown bool) {
	p := &position{key: pos, shown: shown}
	if v := value.GetToken().Position; value.Type() != ast.NullType && v.Line == pos.Line && v.Column >= pos.Column {
		p.value = v.Column
		text := []rune(s.lines[v.Line-1]) // the library may count the tab ahead
		for p.value <= len(text) && text[p.value-1] == '\t' {
			p.value++
		}
	}
	s.positions[at] = p
}

// bad records a problem with the value at key. For an absent key, the position is that
// of the nearest key above it.
func (s *source) bad(key, message, hint string) {
	if s.refused(key) {
		return // the first one says why the value is not what it should be
	}
	s.problems = append(s.problems, s.problem(key, message, hint))
}

// badKey records a problem with the key itself.
func (s *source) badKey(key, message, hint string) {
	if !s.refused(key) {
		s.badAt(s.positions[key].key, key, message, hint)
	}
}

func (s *source) badAt(pos *token.Position, key, message, hint string) {
	s.problems = append(s.problems, s.problemAt(pos.Line, pos.Column, key, message, hint))
}

// problem is one with the value at key.
func (s *source) problem(key, message, hint string) *Problem {
	at := key
	for s.positions[at] == nil && at != "" {
		at = parentKey(at)
	}
	p := s.positions[at]
	switch {
	case p == nil:
		return s.problemAt(1, 1, key, message, hint)
	case p.value > 0 && at == key:
		return s.problemAt(p.key.Line, p.value, key, message, hint)
	}
	return s.problemAt(p.key.Line, p.key.Column, key, message, hint)
}

func (s *source) problemAt(line, column int, key, message, hint string) *Problem {
	p := &Problem{File: s.name, Key: media.Printable(key), Message: media.Printable(message), Hint: media.Printable(hint)}
	p.Line = min(max(line, 1), len(s.lines))
	p.Column = min(max(column, 1), utf8.RuneCountInString(s.lines[p.Line-1])+1)
	return p
}

// refused reports whether a problem with the value at key was recorded.
func (s *source) refused(key string) bool {
	shown := media.Printable(key)
	return slices.ContainsFunc(s.problems, func(p *Problem) bool { return p.Key == shown && key != "" })
}

// has reports whether the file has key, even without a value.
func (s *source) has(key string) bool { return s.positions[key] != nil }

// line returns the line of key.
func (s *source) line(key string) int {
	if p := s.positions[key]; p != nil {
		return p.key.Line
	}
	return 1
}

// err joins the problems in the order of the file.
func (s *source) err() error {
	s.finish(s.problems)
	errs := make([]error, len(s.problems))
	for i, p := range s.problems {
		errs[i] = p
	}
	return errors.Join(errs...)
}

// maxShown is how many problems show their line: nobody reads more, and each problem
// on one long line costs a scan of that line.
const maxShown = 100

// finish sorts problems in the order of the file, and adds their lines to the first
// ones: only now are all secrets of a line known.
func (s *source) finish(problems []*Problem) {
	slices.SortStableFunc(problems, func(a, b *Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	for _, p := range problems[:min(len(problems), maxShown)] {
		p.excerpt = s.excerpt(p.Line, p.Column)
	}
}

// parentKey is the key path that holds key: "groups[1]" for "groups[1].chat".
func parentKey(key string) string {
	if i := strings.LastIndexAny(key, ".["); i >= 0 {
		return key[:i]
	}
	return ""
}
