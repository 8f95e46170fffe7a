package markup

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// styled is a text as members see it, with the spans that are formatted. Any piece
// of it can be rendered alone, so a message can end anywhere.
type styled struct {
	text  string
	spans []span // by where they begin, an outer one before those within it
	base  int    // where the text begins, as the spans count
}

// span is a range of bytes, never empty.
type span struct {
	from, to int
	kind     Kind   // Bold, Italic, Strike, Mono, Link, Fence, Quote or address
	more     string // of a Link, its address; of a Fence, its language; of a format in a line, its mark
}

// address is a span of text that is an address. It is not cut.
const address Kind = "address"

// flow lays a tree out as lines.
type flow struct {
	dialect
	longest int // bytes of an address behind a link's words; a longer one is text
	text    strings.Builder
	spans   []span
	within  map[Kind]bool
	indent  string // of lines in a list
	begun   bool   // the line has its indentation
}

func layOut(nodes []Node, d dialect, longest int) styled {
	f := flow{dialect: d, longest: longest, within: map[Kind]bool{}}
	f.blocks(nodes)
	return styled{text: f.text.String(), spans: f.spans}.trimmed()
}

// as writes something with a format, which it has once however often it is nested.
func (f *flow) as(kind Kind, more string, write func()) {
	if f.within[kind] {
		write()
		return
	}
	f.within[kind] = true
	i := len(f.spans)
	f.spans = append(f.spans, span{f.text.Len(), 0, kind, more})
	write()
	f.within[kind] = false
	if f.spans[i].to = f.text.Len(); f.spans[i].to == f.spans[i].from {
		f.spans = append(f.spans[:i], f.spans[i+1:]...)
	}
}

// words writes a text. The indentation goes before the first word of a line.
func (f *flow) words(s string) {
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			f.text.WriteString("\n")
			f.begun = false
		}
		if line != "" && !f.begun {
			f.text.WriteString(f.indent)
			f.begun = true
		}
		f.text.WriteString(line)
	}
}

func (f *flow) blocks(nodes []Node) {
	for i, n := range nodes {
		switch {
		case i > 0 && n.Tight, i > 0 && n.Kind == Item:
			f.words("\n")
		case i > 0:
			f.words("\n\n")
		}
		f.block(n)
	}
}

func (f *flow) block(n Node) {
	switch n.Kind {
	case Heading:
		f.as(Bold, "", func() { f.inline(n.Kids) })
	case List:
		f.blocks(n.Kids)
	case Item:
		f.item(n)
	case Quote:
		before := f.indent
		f.indent = ""
		f.as(Quote, "", func() { f.blocks(n.Kids) })
		f.indent = before
	case Fence:
		f.code(n.Text, language.FindString(n.Label))
	case Table:
		f.table(n)
	case Rule:
		f.words("———")
	default:
		f.inline(n.Kids)
	}
}

func (f *flow) item(n Node) {
	before := f.indent
	f.words(n.Label)
	f.indent += strings.Repeat(" ", utf8.RuneCountInString(n.Label)+1)
	switch {
	case len(n.Kids) == 0:
	case n.Kids[0].Kind == Paragraph, n.Kids[0].Kind == Heading:
		f.words(" ")
	default:
		f.words("\n")
	}
	f.blocks(n.Kids)
	f.indent = before
}

// language is one that a platform may know, to colour code of it.
var language = regexp.MustCompile(`^[A-Za-z0-9+#._-]{1,20}$`)

const maxLanguage = 20

// code is written without indentation, which would become part of the code.
func (f *flow) code(text, language string) {
	f.begun = true
	f.as(Fence, language, func() { f.text.WriteString(text) })
}

func (f *flow) inline(nodes []Node) {
	for _, n := range nodes {
		switch n.Kind {
		case Text:
			f.words(n.Text)
		case Mono:
			f.as(Mono, "", func() { f.words(n.Text) })
		case Link:
			f.link(n)
		default:
			f.as(n.Kind, "", func() { f.inline(n.Kids) })
		}
	}
}

// link writes the words and the address, unless the platform has links with words.
func (f *flow) link(n Node) {
	words := strings.TrimSpace(n.words())
	shown := strings.TrimPrefix(n.URL, "mailto:")
	switch {
	case f.links && len(n.URL) <= f.longest && !(f.web && shown != n.URL):
		f.as(Link, n.URL, func() { f.inline(n.Kids) })
	case words == shown:
		f.as(address, "", func() { f.words(shown) })
	default:
		f.inline(n.Kids)
		f.words(" (")
		f.as(address, "", func() { f.words(shown) })
		f.words(")")
	}
}
