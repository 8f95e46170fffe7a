package markup

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// What GitHub's Markdown has and no chat shows becomes what is most like it.

// headingParser makes a heading of one line with a line of dashes or equals signs below.
// Below several lines, dashes are a rule in a chat. Less than three are no heading: they
// begin lists and sums.
type headingParser struct{ parser.BlockParser }

// Open implements parser.BlockParser.
func (p headingParser) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, _ := reader.PeekLine()
	above, ok := pc.LastOpenedBlock().Node.(*ast.Paragraph)
	if !ok || above.Lines().Len() != 1 || len(bytes.TrimSpace(line)) < 3 {
		return nil, parser.NoChildren
	}
	return p.BlockParser.Open(parent, reader, pc)
}

// footnoteParser makes [1] of [^1], in the text and before the note.
type footnoteParser struct{}

var footnote = regexp.MustCompile(`^\[\^[^\s\[\]^]{1,20}\]`)

// Trigger implements parser.InlineParser.
func (footnoteParser) Trigger() []byte { return []byte("[") }

// Parse implements parser.InlineParser.
func (footnoteParser) Parse(parent ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, segment := block.PeekLine()
	n := len(footnote.Find(line))
	if n == 0 || n < len(line) && line[n] == '(' { // a link
		return nil
	}
	block.Advance(n)
	parent.AppendChild(parent, ast.NewTextSegment(segment.WithStop(segment.Start+1)))
	return ast.NewTextSegment(text.NewSegment(segment.Start+2, segment.Start+n))
}

// alerts begin a quote that GitHub colours: https://docs.github.com/en/get-started/writing-on-github.
var alerts = regexp.MustCompile(`^\[!(?i:note|tip|important|warning|caution)\](?:\n|$)`)

// alert gives a quote that is an alert a bold line that says so.
func alert(quote []Node) []Node {
	if len(quote) == 0 || len(quote[0].Kids) == 0 || quote[0].Kids[0].Kind != Text {
		return quote
	}
	first := quote[0].Kids
	mark := alerts.FindString(first[0].Text)
	if mark == "" {
		return quote
	}
	word := strings.Trim(mark, "[!]\n")
	title := Node{Kind: Bold, Kids: []Node{{Text: strings.ToUpper(word[:1]) + strings.ToLower(word[1:])}}}
	rest := Node{Text: first[0].Text[len(strings.TrimSuffix(mark, "\n")):]}
	quote[0].Kids = append([]Node{title, rest}, first[1:]...)
	return quote
}
