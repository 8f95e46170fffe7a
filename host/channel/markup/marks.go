package markup

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// marks are the characters with which a platform formats. They work at the edges of
// words only and within one line, as on WhatsApp and Slack: marks that would not
// work are left out, and characters of the text that would work as marks are replaced by
// others that look like them, because neither platform can escape these.
type marks struct {
	of          map[Kind]string   // of Bold, Italic, Strike and Mono
	beside      map[Kind]string   // those that work beside a letter, too; nil: none does
	open, close string            // of a Fence
	coloured    bool              // a Fence has its language behind its opening ticks
	escape      *strings.Replacer // nil: of nothing

	// backslashed are the characters before which a backslash makes a platform show
	// them as they are, and at a line's start also those of lineStart. Empty: the
	// platform knows no backslash.
	backslashed, lineStart string
	masked                 bool // a link is [words](<url>); otherwise <url|words>
}

// alike are the characters that look like marks and are none.
var alike = map[rune]string{'*': "∗", '_': "ˍ", '~': "∼", '`': "ˋ", '>': "›"}

// encoded are marks within an address.
var encoded = map[rune]string{'*': "%2A", '_': "%5F", '~': "%7E"}

// render is a piece of a text in the platform's form.
func (m marks) render(s styled) string {
	var b strings.Builder
	at, spans := 0, &passage{rest: s.spans}
	for _, p := range s.spans {
		if p.kind != Fence {
			continue
		}
		m.lines(&b, s.text, spans, at, p.from)
		code := strings.ReplaceAll(s.text[p.from:p.to], "```", "``ˋ")
		open := m.open
		if m.coloured {
			open = "```" + p.more + "\n"
		}
		b.WriteString(open + m.safe(code) + m.close)
		at = p.to
	}
	m.lines(&b, s.text, spans, at, len(s.text))
	return b.String()
}

func (m marks) lines(b *strings.Builder, text string, spans *passage, from, to int) {
	for from < to {
		end := to
		if i := strings.IndexByte(text[from:to], '\n'); i >= 0 {
			end = from + i
		}
		here := spans.over(from, max(end, from+1))
		if (from == 0 || text[from-1] == '\n') && slices.ContainsFunc(here, func(p span) bool { return p.kind == Quote && p.from <= from && from < p.to }) {
			b.WriteString("> ")
		}
		newLine(m, text, here, from, end).write(b)
		if end < to {
			b.WriteByte('\n')
			end++
		}
		from = end
	}
}

// passage goes through a text's spans once, from line to line.
type passage struct{ here, rest []span }

// over are the spans that lie over a range, which is behind that of the call before.
func (p *passage) over(from, to int) []span {
	p.here = slices.DeleteFunc(p.here, func(s span) bool { return s.to <= from })
	for len(p.rest) > 0 && p.rest[0].from < to {
		if p.rest[0].to > from {
			p.here = append(p.here, p.rest[0])
		}
		p.rest = p.rest[1:]
	}
	return p.here
}

// line is one line outside code blocks.
type line struct {
	marks
	text     string
	spans    []span          // within the line, outer ones first
	asIs     []span          // of these, Mono, Link and address; none within another
	formats  map[rune][]span // of these, the others, by their mark
	from, to int
	body     int  // where its words begin
	first    bool // nothing stands before it in its line
	runs     []run
}

// run is a mark of the text, or several of the same beside each other.
type run struct {
	mark          rune
	from, to      int
	opens, closes bool // it would, if there were the other one
	active        bool
}

func newLine(m marks, text string, spans []span, from, to int) line {
	l := line{marks: m, text: text, from: from, to: to, first: from == 0 || text[from-1] == '\n', formats: map[rune][]span{}}
	l.body = to - len(strings.TrimLeft(text[from:to], " \t"))
	inLink := 0
	for _, p := range spans {
		p.from, p.to = max(p.from, from), min(p.to, to)
		if p.from >= p.to {
			continue
		}
		words := text[p.from:p.to]
		p.from += len(words) - len(strings.TrimLeft(words, " \t"))
		p.to -= len(words) - len(strings.TrimRight(words, " \t"))
		switch {
		case p.from >= p.to, p.kind == Quote, p.kind == Fence:
			continue
		case p.kind == Link:
			inLink = p.to
		case p.kind != address:
			if p.more = l.markOf(p); p.more == "" || p.from < inLink {
				continue
			}
		}
		l.add(p)
	}
	if len(m.of) > 0 && m.backslashed == "" {
		l.findRuns()
	}
	return l
}

// add adds a span behind those that begin before it.
func (l *line) add(p span) {
	l.spans = append(l.spans, p)
	switch p.kind {
	case Mono, Link, address:
		if n := len(l.asIs); n == 0 || l.asIs[n-1].to <= p.from {
			l.asIs = append(l.asIs, p)
		}
	default:
		mark := rune(p.more[0])
		l.formats[mark] = append(l.formats[mark], p)
	}
}

// covering is the span over a place; none lies within another.
func covering(spans []span, i int) (span, bool) {
	n := sort.Search(len(spans), func(n int) bool { return spans[n].to > i })
	if n == len(spans) || spans[n].from > i {
		return span{kind: Text}, false
	}
	return spans[n], true
}

// markOf is the mark that formats a span; empty: none does, since it would stand in a word.
func (l line) markOf(p span) string {
	before, after := isWord(l.before(p.from)), isWord(l.at(p.to))
	switch {
	case p.kind == Mono && strings.Contains(l.text[p.from:p.to], "`"):
		return ""
	case (before || after) && l.beside != nil:
		return l.beside[p.kind]
	case before && isWord(l.at(p.from)), after && isWord(l.before(p.to)):
		return ""
	}
	return l.of[p.kind]
}

// apart stands between a mark and the letter outside, so that the mark works there. Only
// a mark that has no letter on its other side gets it.
const apart = "\u200b"

// parted says whether marks at a place need that.
func (l line) parted(i int, closing, opening []span) bool {
	formats := func(p span) bool { return p.kind != Link && p.kind != address }
	return l.beside == nil && (slices.ContainsFunc(closing, formats) && isWord(l.at(i)) || slices.ContainsFunc(opening, formats) && isWord(l.before(i)))
}

// before is the character before a place, and at the one behind it; 0 beyond the line.
func (l line) before(i int) rune {
	r, n := utf8.DecodeLastRuneInString(l.text[l.from:i])
	return present(r, n)
}

func (l line) at(i int) rune {
	r, n := utf8.DecodeRuneInString(l.text[i:l.to])
	return present(r, n)
}

func present(r rune, n int) rune {
	if n == 0 {
		return 0
	}
	return r
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

func (l line) write(b *strings.Builder) {
	closing := slices.Clone(l.spans)
	slices.Reverse(closing)
	slices.SortStableFunc(closing, func(a, b span) int { return cmp.Compare(a.to, b.to) })
	opening, runs := l.spans, l.runs
	for i := l.from; ; {
		closed, opened := 0, 0
		for ; closed < len(closing) && closing[closed].to == i; closed++ {
			b.WriteString(l.closeMark(closing[closed]))
		}
		for ; opened < len(opening) && opening[opened].from == i; opened++ {
		}
		if l.parted(i, closing[:closed], opening[:opened]) {
			b.WriteString(apart)
		}
		for _, p := range opening[:opened] {
			b.WriteString(l.openMark(p))
		}
		closing, opening = closing[closed:], opening[opened:]
		if i == l.to {
			return
		}
		r, n := utf8.DecodeRuneInString(l.text[i:l.to])
		for len(runs) > 0 && runs[0].to <= i {
			runs = runs[1:]
		}
		if len(runs) > 0 && runs[0].from <= i && runs[0].active {
			b.WriteString(l.instead(r, i))
		} else {
			b.WriteString(l.escaped(r, i))
		}
		i += n
	}
}

func (l line) openMark(p span) string {
	if p.kind != Link {
		return p.more
	}
	if l.text[p.from:p.to] == p.more {
		return "<"
	}
	if l.masked {
		return "["
	}
	return "<" + l.safe(p.more) + "|"
}

func (l line) closeMark(p span) string {
	if p.kind == Link && l.masked && l.text[p.from:p.to] != p.more {
		return "](<" + p.more + ">)"
	}
	if p.kind == Link {
		return ">"
	}
	return p.more
}

// safe is a text in which nothing works as a mark of the platform's that stands anywhere.
func (m marks) safe(s string) string {
	if m.escape == nil {
		return s
	}
	return m.escape.Replace(s)
}

// escaped is a character of the text as the platform shows it.
func (l line) escaped(r rune, i int) string {
	if l.backslashed == "" {
		return l.safe(string(r))
	}
	switch p, _ := covering(l.asIs, i); {
	case p.kind == Mono, p.kind == address:
	case p.kind == Link && l.text[p.from:p.to] == p.more:
	case strings.ContainsRune(l.backslashed, r), strings.ContainsRune(l.lineStart, r) && l.first && i == l.body:
		return `\` + string(r)
	}
	return string(r)
}

// instead is what is written for a character that the platform would take for a mark.
func (l line) instead(r rune, i int) string {
	switch p, _ := covering(l.asIs, i); p.kind {
	case Mono, Link:
		return l.safe(string(r))
	case address:
		return encoded[r]
	}
	return alike[r]
}

// findRuns finds the text's own marks, and which of these the platform would act on: one
// within the same format, and one that makes a pair with another or with a format's.
func (l *line) findRuns() {
	firstOpen, lastClose := map[rune]int{}, map[rune]int{}
	pair := func(mark rune, opens, closes int) {
		if at, ok := firstOpen[mark]; opens >= 0 && (!ok || opens < at) {
			firstOpen[mark] = opens
		}
		lastClose[mark] = max(lastClose[mark], closes)
	}
	for _, p := range l.spans {
		if p.kind != Link && p.more != "" {
			pair(rune(p.more[0]), p.from, p.to)
		}
	}
	for i := l.from; i < l.to; {
		r := rune(l.text[i])
		one := run{mark: r, from: i, to: i + 1}
		for ; one.to < l.to && rune(l.text[one.to]) == r; one.to++ {
		}
		i = one.to
		if p, _ := covering(l.asIs, one.from); alike[r] == "" || p.kind == Mono {
			continue
		}
		before, after := l.before(one.from), l.at(one.to)
		one.opens = !isWord(before) && after != 0 && !unicode.IsSpace(after)
		one.closes = !isWord(after) && before != 0 && !unicode.IsSpace(before)
		if one.closes {
			pair(r, -1, one.from)
		}
		if one.opens {
			pair(r, one.from, -1)
		}
		l.runs = append(l.runs, one)
	}
	for i := range l.runs {
		one := &l.runs[i]
		first, ok := firstOpen[one.mark]
		one.active = one.mark != '>' && (one.opens && lastClose[one.mark] > one.to || one.closes && ok && first < one.from) || l.within(one)
	}
}

// within says whether a run lies within the format that its mark ends, or is a > with
// which the line begins.
func (l line) within(one *run) bool {
	if one.mark == '>' {
		return l.first && one.from == l.from
	}
	_, in := covering(l.formats[one.mark], one.from)
	return in
}
