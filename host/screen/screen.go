// Package screen says of a file that is about to leave whether it may: whether its name
// or its content is that of a secret, such as a private key or a store of credentials.
//
// It catches mistakes and crude attempts. It cannot keep in what somebody has encrypted,
// encoded or cut into pieces.
package screen

import (
	"fmt"
	"io"
	"iter"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/media"
)

// Code is that of every refusal of a Screen.
const Code = "screened"

// What is read of a file for the rules of content: its first and its last bytes. Of an
// archive its names are read too, see members.
const (
	head = 256 << 10
	tail = 64 << 10
)

// near is within how many bytes of a mark a rule's content stands.
const near = 4 << 10

// maxSteps is how many characters of a file are read behind marks that lead to no secret. A
// file that takes more is refused: only one that was made for it does.
const maxSteps = 1 << 19

// Bounds of the operator's rules.
const (
	MaxRules   = 50
	MaxPattern = 500 // bytes of one expression
)

// Rule refuses files of a name, of a content, or of both.
type Rule struct {
	Name string // stable, for the configuration and for refusals
	What string // is refused, such as "a private key"

	// What a path has, in upper or lower case. A rule with none of them is for any path.
	name       expression // stands in it
	ending     expression // is the path from one of its last parts on, see maxParts
	extensions []string   // behind the last dot
	directory  string     // is on the way, at any depth

	except  expression // stands in a path that the rule is not for after all; may be nil
	content expression // nil: any. Its group, if it has one, is the secret; a placeholder there is none

	start  string   // what a file with the content begins with
	marks  []string // the content begins with one of them; none: it stands anywhere
	digits int      // so many stand before the mark
	fold   bool     // the marks are in upper or lower case
	word   bool     // no letter, digit, - or _ stands before the mark
	beside string   // stands within near bytes of the mark; empty: anything
	der    bool     // the whole file is a key in DER, by its first bytes
}

// Pattern is a rule of the operator's. Name and Content are RE2 expressions, of which one may be
// empty.
type Pattern struct{ Rule, Name, Content string }

// Screen is the rules that are in force. It never changes. A nil Screen lets all pass.
type Screen struct {
	rules []Rule
	marks [][]mark
	pairs *[1 << 16]uint16 // which of marks begin with the two bytes; 0: none; nil: there are no marks
}

// New returns the built-in rules, but for those in off, and the operator's. own are the host's
// own secrets, of which those shorter than MinOwn bytes are left out. An error quotes the
// expression that is wrong.
func New(off []string, deny []Pattern, own ...string) (*Screen, error) {
	s := &Screen{}
	for _, r := range BuiltIn() {
		if r.Name == ownSecret {
			r.marks = slices.DeleteFunc(slices.Clone(own), func(secret string) bool { return len(secret) < MinOwn })
		}
		if r.Name == ownSecret && len(r.marks) == 0 || slices.Contains(off, r.Name) {
			continue
		}
		s.rules = append(s.rules, r)
	}
	if len(deny) > MaxRules {
		return nil, fmt.Errorf("more than %d rules", MaxRules)
	}
	for _, p := range deny {
		r, err := p.compile()
		if err != nil {
			return nil, err
		}
		s.rules = append(s.rules, r)
	}
	s.index()
	return s, nil
}

func (p Pattern) compile() (r Rule, err error) {
	r = Rule{Name: p.Rule, What: "what the operator keeps in"}
	if p.Name == "" && p.Content == "" {
		return r, fmt.Errorf("rule %q has neither a name nor a content", p.Rule)
	}
	for _, e := range []struct {
		text string
		to   *expression
	}{{p.Name, &r.name}, {p.Content, &r.content}} {
		if e.text == "" {
			continue
		}
		if len(e.text) > MaxPattern {
			return r, fmt.Errorf("rule %q: an expression is longer than %d bytes", p.Rule, MaxPattern)
		}
		compiled, err := regexp.Compile(e.text)
		if err != nil {
			return r, fmt.Errorf("rule %q: %w", p.Rule, err)
		}
		*e.to = func() *regexp.Regexp { return compiled }
	}
	return r, nil
}

// Check refuses a file of size bytes that has one of the names, paths as a rule, if a rule
// hits. An error that is no *refusal.Error is one of reading content.
func (s *Screen) Check(content io.ReaderAt, size int64, names ...string) error {
	r, message, err := s.find(content, size, names)
	if r == nil || err != nil {
		return err
	}
	return refused(r, message)
}

// Hit returns the name of the first rule that hits such a file, or empty. The error is one of
// reading content.
func (s *Screen) Hit(content io.ReaderAt, size int64, names ...string) (rule string, err error) {
	r, _, err := s.find(content, size, names)
	if r == nil || err != nil {
		return "", err
	}
	return r.Name, nil
}

// find returns the first rule that hits a file, and what it says of it; nil: none does.
func (s *Screen) find(content io.ReaderAt, size int64, names []string) (*Rule, string, error) {
	if s == nil || len(s.rules) == 0 {
		return nil, "", nil
	}
	text, err := window(content, size)
	if err != nil {
		return nil, "", fmt.Errorf("screen a file: %w", err)
	}
	found := s.contents(text)
	if r := found.crowded; r != nil {
		return r, fmt.Sprintf("%q holds more beginnings of %s than can be looked at", short(names[0]), r.What), nil
	}
	for _, name := range names {
		forms := formsOf(name)
		for i := range s.rules {
			if r := &s.rules[i]; found.has[i] && r.named(forms) {
				return r, fmt.Sprintf("%q is or holds %s", short(name), r.What), nil
			}
		}
	}
	for name := range members(content, size, text) {
		forms := formsOf(name)
		for i := range s.rules {
			if r := &s.rules[i]; r.anyContent() && r.named(forms) {
				return r, fmt.Sprintf("%q holds %q: %s", short(names[0]), short(name), r.What), nil
			}
		}
	}
	return nil, "", nil
}

func refused(r *Rule, message string) error {
	return &refusal.Error{
		Code: Code, Message: fmt.Sprintf("%s, which must not leave (rule %s)", message, r.Name),
		Hint: "leave the secret out; if this is none, ask the operator, who finds the rule by: longshore screen rules",
	}
}

// short returns the last part of a name, for a message.
func short(name string) string {
	base := path.Base(name)
	return strings.ToValidUTF8(base[:min(len(base), 80)], "")
}

// named reports whether the rule is one for files of one of these names, see formsOf.
func (r *Rule) named(forms []string) bool { return slices.ContainsFunc(forms, r.matches) }

// formsOf returns the forms of a name: as it was given, as members will see it, without what
// they will not see in it, such as the joiners of Persian, and as each was before
// media.SafeName changed it, which the assistant's tool may have done.
func formsOf(name string) (forms []string) {
	name = strings.ReplaceAll(name, `\`, "/")
	visible := media.Visible(name)
	for _, form := range []string{name, visible, strings.Map(seenOnly, visible)} {
		form = strings.TrimRight(form, " .")
		forms = append(forms, form)
		if dir, base := path.Split(form); strings.HasPrefix(base, "_.") {
			forms = append(forms, dir+base[1:])
		}
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

// seenOnly leaves out what is not shown by itself: Unicode's Default_Ignorable_Code_Point
// (DerivedCoreProperties.txt) is made of these tables.
func seenOnly(char rune) rune {
	if unicode.In(char, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
		return -1
	}
	return char
}

func (r *Rule) matches(name string) bool {
	if r.name == nil && r.ending == nil && r.extensions == nil {
		return true
	}
	return (r.name != nil && r.name().MatchString(name) || r.extended(name) || r.below(name) || r.ends(name)) &&
		(r.except == nil || !r.except().MatchString(name))
}

func (r *Rule) extended(name string) bool {
	dotted := path.Ext(name)
	return dotted != "" && slices.ContainsFunc(r.extensions, func(e string) bool { return strings.EqualFold(e, dotted[1:]) })
}

func (r *Rule) below(name string) bool {
	for part, rest, found := strings.Cut(name, "/"); r.directory != "" && found && rest != ""; part, rest, found = strings.Cut(rest, "/") {
		if strings.EqualFold(part, r.directory) {
			return true
		}
	}
	return false
}

func (r *Rule) ends(name string) bool {
	if r.ending == nil {
		return false
	}
	for end := range endings(name) {
		if r.ending().MatchString(end) {
			return true
		}
	}
	return false
}

// maxParts is how many parts of a path an ending has at most.
const maxParts = 3

// endings returns the last part of a path, its last two parts, and so on, up to maxParts: an
// assistant makes paths of thousands of parts.
func endings(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		at := len(path)
		for n := 0; n < maxParts && at >= 0; n++ {
			at = strings.LastIndexByte(path[:at], '/')
			if !yield(path[at+1:]) {
				return
			}
		}
	}
}

// window returns the first and the last bytes of a file.
func window(r io.ReaderAt, size int64) ([]byte, error) {
	first, last := min(size, head), min(max(size-head, 0), tail)
	text := make([]byte, first+last)
	if err := readAt(r, text[:first], 0); err != nil {
		return nil, err
	}
	if err := readAt(r, text[first:], size-last); err != nil {
		return nil, err
	}
	return text, nil
}

// readAt fills b. Fewer bytes are an error.
func readAt(r io.ReaderAt, b []byte, at int64) error {
	if n, err := r.ReadAt(b, at); n < len(b) {
		return err
	}
	return nil
}
