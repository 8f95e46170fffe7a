package screen

import (
	"bytes"
	"io"
	"regexp"
	"unicode/utf8"
)

// mark is where the content of the rule at a position may begin.
type mark struct {
	rule int
	text []byte
}

// index puts the marks where their first two bytes lead to.
func (s *Screen) index() {
	s.marks = make([][]mark, 1)
	for i, r := range s.rules {
		for _, text := range r.marks {
			for _, first := range cases(text[0], r.fold) {
				for _, second := range cases(text[1], r.fold) {
					s.mark(first, second, mark{i, []byte(text)})
				}
			}
		}
	}
}

func (s *Screen) mark(first, second byte, m mark) {
	if s.pairs == nil {
		s.pairs = new([1 << 16]uint16)
	}
	at := &s.pairs[int(first)<<8|int(second)]
	if *at == 0 {
		*at = uint16(len(s.marks))
		s.marks = append(s.marks, nil)
	}
	s.marks[*at] = append(s.marks[*at], m)
}

// cases returns a letter in lower and in upper case, if both count.
func cases(b byte, fold bool) []byte {
	if lower := b | 0x20; fold && lower >= 'a' && lower <= 'z' {
		return []byte{lower, lower &^ 0x20}
	}
	return []byte{b}
}

// perMark is how many steps it takes to begin at a mark.
const perMark = 16

// minWide is how many letters a secret in UTF-16 has at least.
const minWide = 16

// findings are what a text has of each rule.
type findings struct {
	has     []bool
	crowded *Rule // whose marks took more than maxSteps; nil: none
	steps   int   // characters that were read behind marks
	scanned int   // bytes that were searched for what stands beside marks
}

// contents reports for each rule whether the text has its content. Of a text in UTF-16, with or without a
// mark of the order of its bytes, the zero bytes are left out too, so that Latin letters read as
// themselves.
func (s *Screen) contents(text []byte) (f findings) {
	f.has = make([]bool, len(s.rules))
	for i := range s.rules {
		r := &s.rules[i]
		f.has[i] = r.anyContent() || r.der && isKeyDER(text)
	}
	s.read(text, &f)
	if bytes.Count(text, []byte{0}) >= minWide {
		s.read(bytes.ReplaceAll(text, []byte{0}, nil), &f)
	}
	return f
}

// read goes over a text once for all marks.
func (s *Screen) read(text []byte, f *findings) {
	for i := range s.rules {
		if r := &s.rules[i]; r.content != nil && len(r.marks) == 0 && !f.has[i] {
			f.has[i] = r.content().Match(text)
		}
	}
	if s.pairs == nil {
		return
	}
	last := make([]int, len(s.rules)) // by rule: where its beside was last found
	for i := range last {
		last[i] = -1
	}
	for i := 1; i < len(text) && f.crowded == nil; i++ {
		at := s.pairs[int(text[i-1])<<8|int(text[i])]
		if at == 0 {
			continue
		}
		for _, m := range s.marks[at] {
			if r := &s.rules[m.rule]; !f.has[m.rule] && r.begins(text, i-1, m.text) && r.accompanied(text, i-1, &last[m.rule], f) {
				f.has[m.rule] = r.holds(text, i-1, f)
			}
		}
	}
}

// begins reports whether the rule's content may stand at a mark.
func (r *Rule) begins(text []byte, at int, mark []byte) bool {
	rest := text[at:]
	if r.fold {
		if len(rest) < len(mark) || !bytes.EqualFold(rest[:len(mark)], mark) {
			return false
		}
	} else if !bytes.HasPrefix(rest, mark) {
		return false
	}
	if !bytes.HasPrefix(text, []byte(r.start)) || r.word && at > 0 && isWord(text[at-1]) {
		return false
	}
	for n := range r.digits {
		if before := at - 1 - n; before < 0 || text[before] < '0' || text[before] > '9' {
			return false
		}
	}
	return true
}

// accompanied reports whether the rule's beside stands near a mark. The caller asks in the order of
// the marks: last is where beside was found before, so no part of the text is searched twice.
func (r *Rule) accompanied(text []byte, at int, last *int, f *findings) bool {
	if r.beside == "" {
		return true
	}
	if from := max(at-near, 0); *last < from {
		found := bytes.Index(text[from:], []byte(r.beside))
		if *last = from + found; found < 0 {
			*last = len(text) // there is no more
		}
		f.scanned += min(*last+len(r.beside), len(text)) - from
	}
	return *last+len(r.beside) <= min(at+near, len(text))
}

func isWord(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b == '-'
}

// holds reports whether the rule's content stands at a mark, and is no placeholder.
func (r *Rule) holds(text []byte, at int, f *findings) bool {
	if r.content == nil { // the mark is all of it
		return true
	}
	rest := text[at:min(at+near, len(text))]
	f.steps += perMark
	found := r.content().FindReaderSubmatchIndex(&counted{rest, &f.steps})
	for len(found) > 2 && found[2] < 0 { // a group of another alternative
		found = append(found[:2], found[4:]...)
	}
	if len(found) > 2 {
		found = found[2:] // the secret itself
	}
	if found != nil && !placeholders.Match(rest[found[0]:found[1]]) {
		return true
	}
	if f.steps > maxSteps {
		f.crowded = r
	}
	return false
}

// counted reads a text and counts its characters.
type counted struct {
	text []byte
	n    *int
}

func (c *counted) ReadRune() (r rune, size int, err error) {
	if len(c.text) == 0 {
		return 0, 0, io.EOF
	}
	r, size = utf8.DecodeRune(c.text)
	c.text = c.text[size:]
	*c.n++
	return r, size, nil
}

// placeholders stand in documentation in the place of a secret.
var placeholders = regexp.MustCompile(`(?i)example|xxxxxx|placeholder|changeme|change_me|redacted|your[_-]|\*\*\*\*`)

// anyContent reports whether the rule is for files of any content.
func (r *Rule) anyContent() bool { return r.content == nil && len(r.marks) == 0 && !r.der }
