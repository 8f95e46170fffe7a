package markup

import (
	"bytes"
	"html"
	"regexp"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Parse reads Markdown as GitHub knows it, but for what surprises in a chat: a line
// break stays one, indented lines are no code, HTML but <br> stays the characters that it is,
// a line of dashes below several lines is a rule, and links have their address beside them.
// It takes time that grows as the text does. It never fails: a text that is too long, or
// that the parser fails on, is one paragraph, as written, and so are the marks that would
// take long.
func Parse(written string) (tree []Node) {
	written = clean(written)
	literal := []Node{{Kind: Paragraph, Kids: []Node{{Text: strings.TrimSpace(written)}}}}
	if len(written) > maxInput {
		return literal
	}
	defer func() {
		if recover() != nil { // a mistake in the parser must not end the host
			tree = literal
		}
	}()
	r := reader{[]byte(written)}
	return r.blocks(markdown.Parse(text.NewReader(r.source), parser.WithContext(newWork(len(written)))), 0)
}

// markdown never changes, and may be used by several goroutines.
var markdown = newParser()

func newParser() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(blockParsers()...),
		parser.WithInlineParsers(inlineParsers()...),
		parser.WithParagraphTransformers(util.Prioritized(tableParser{extension.NewTableParagraphTransformer()}, 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
}

func blockParsers() []util.PrioritizedValue {
	return []util.PrioritizedValue{
		util.Prioritized(headingParser{parser.NewSetextHeadingParser()}, 100),
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(shallow{parser.NewListParser()}, 300),
		util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(shallow{parser.NewBlockquoteParser()}, 800),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	}
}

func inlineParsers() []util.PrioritizedValue {
	return []util.PrioritizedValue{
		util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
		util.Prioritized(codeParser{parser.NewCodeSpanParser()}, 100),
		util.Prioritized(footnoteParser{}, 190),
		util.Prioritized(linkParser{parser.NewLinkParser()}, 200),
		util.Prioritized(parser.NewAutoLinkParser(), 300),
		util.Prioritized(productParser{}, 490),
		util.Prioritized(delimiterParser{cjkParser{parser.NewEmphasisParser()}}, 500),
		util.Prioritized(delimiterParser{cjkParser{extension.NewStrikethroughParser()}}, 500),
		util.Prioritized(addressParser{}, 999),
	}
}

// productParser leaves stars and tildes between two letters or digits alone, so that
// 2*3*4 is a product, and tildes that are too many for a format.
type productParser struct{}

// Trigger implements parser.InlineParser.
func (productParser) Trigger() []byte { return []byte("*~") }

// Parse implements parser.InlineParser.
func (productParser) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, segment := block.PeekLine()
	before, c := block.PrecendingCharacter(), line[0]
	if before == '*' && c == '*' { // it was looked at
		return nil
	}
	n := 0
	for n < len(line) && line[n] == c {
		n++
	}
	product := n < len(line) && isASCIIWord(before) && isASCIIWord(rune(line[n]))
	if !product && (c != '~' || n <= 2 && before != '~') {
		return nil
	}
	block.Advance(n)
	return ast.NewTextSegment(segment.WithStop(segment.Start + n))
}

func isASCIIWord(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// reader makes Nodes of what goldmark has parsed.
type reader struct{ source []byte }

// blocks are the children of a block.
func (r reader) blocks(parent ast.Node, depth int) (all []Node) {
	for b := parent.FirstChild(); b != nil; b = b.NextSibling() {
		n := r.block(b, depth)
		n.Tight = n.Kind != Table && b.Type() == ast.TypeBlock && !b.HasBlankPreviousLines()
		all = append(all, n)
	}
	return all
}

func (r reader) block(b ast.Node, depth int) Node {
	switch b := b.(type) {
	case *ast.Heading:
		return Node{Kind: Heading, Level: b.Level, Kids: r.inline(b, depth)}
	case *ast.ThematicBreak:
		return Node{Kind: Rule}
	case *ast.List:
		return Node{Kind: List, Kids: r.items(b, depth)}
	case *ast.ListItem:
		return Node{Kind: Item, Kids: r.blocks(b, depth+1)}
	case *ast.Blockquote:
		return Node{Kind: Quote, Kids: alert(r.blocks(b, depth+1))}
	case *ast.FencedCodeBlock:
		return Node{Kind: Fence, Label: string(b.Language(r.source)), Text: strings.TrimRight(string(b.Lines().Value(r.source)), "\n")}
	case *extast.Table:
		return Node{Kind: Table, Kids: r.blocks(b, depth+1)}
	case *extast.TableHeader, *extast.TableRow:
		return Node{Kind: Row, Kids: r.blocks(b, depth+1)}
	case *extast.TableCell:
		return Node{Kind: Cell, Right: b.Alignment == extast.AlignRight, Kids: r.inline(b, depth)}
	}
	return Node{Kind: Paragraph, Kids: r.inline(b, depth)}
}

// The boxes of tasks.
const open, done = "☐ ", "☑ "

// items are a list's, each with its bullet, number or box.
func (r reader) items(l *ast.List, depth int) (all []Node) {
	number := l.Start
	for _, item := range r.blocks(l, depth) {
		item.Label = "•"
		if l.IsOrdered() {
			item.Label = strconv.Itoa(number) + string(l.Marker)
			number++
		} else if box := cutBox(item); box != "" {
			item.Label = box
		}
		all = append(all, item)
	}
	return all
}

// cutBox takes the box of a task out of an item.
func cutBox(item Node) string {
	if len(item.Kids) == 0 || len(item.Kids[0].Kids) == 0 {
		return ""
	}
	first := &item.Kids[0].Kids[0]
	for _, box := range []string{open, done} {
		if rest, ok := strings.CutPrefix(first.Text, box); ok && first.Kind == Text {
			first.Text = rest
			return strings.TrimSpace(box)
		}
	}
	return ""
}

// maxDepth is that of a tree. Formats that lie deeper are left out.
const maxDepth = 24

// inline is what the lines of a block hold.
func (r reader) inline(parent ast.Node, depth int) (all []Node) {
	var text strings.Builder
	if depth > maxDepth {
		r.words(parent, &text)
		return []Node{{Text: text.String()}}
	}
	flush := func() {
		if text.Len() > 0 {
			all = append(all, Node{Text: text.String()})
			text.Reset()
		}
	}
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		for _, one := range r.span(n, depth) {
			if one.Kind == Text {
				text.WriteString(one.Text)
				continue
			}
			flush()
			all = append(all, one)
		}
	}
	flush()
	return all
}

func (r reader) span(n ast.Node, depth int) []Node {
	switch n := n.(type) {
	case *ast.Text:
		return []Node{{Text: r.text(n)}}
	case *ast.Emphasis:
		kind := Italic
		if n.Level == 2 {
			kind = Bold
		}
		return []Node{{Kind: kind, Kids: r.inline(n, depth+1)}}
	case *extast.Strikethrough:
		return []Node{{Kind: Strike, Kids: r.inline(n, depth+1)}}
	case *ast.CodeSpan:
		return []Node{{Kind: Mono, Text: strings.ReplaceAll(r.raw(n), "\n", " ")}}
	case *ast.AutoLink:
		address := string(n.URL(r.source))
		if n.AutoLinkType == ast.AutoLinkEmail {
			return link("mailto:"+address, []Node{{Text: address}})
		}
		return link(address, []Node{{Text: address}})
	case *ast.Link:
		return link(unescape(string(n.Destination)), r.inline(n, depth+1))
	case *ast.Image:
		return append(append(r.inline(n, depth+1), Node{Text: " ("}), append(link(unescape(string(n.Destination)), nil), Node{Text: ")"})...)
	case *extast.TaskCheckBox:
		if n.IsChecked {
			return []Node{{Text: done}}
		}
		return []Node{{Text: open}}
	}
	return r.inline(n, depth+1)
}

// words writes the text of a node without its formats.
func (r reader) words(parent ast.Node, to *strings.Builder) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			to.WriteString(r.text(n))
		case *ast.AutoLink:
			to.WriteString(clean(string(n.Label(r.source))))
		default:
			r.words(n, to)
		}
	}
}

// raw is the text of a code span.
func (r reader) raw(n ast.Node) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(r.source))
		}
	}
	return b.String()
}

// text is a piece of a line, with the indentation of the line if the piece begins a line
// of a plain paragraph, and the line's end.
func (r reader) text(t *ast.Text) string {
	s := unescape(string(t.Segment.Value(r.source)))
	if p := t.Parent(); p.Kind() == ast.KindParagraph && p.Parent().Kind() == ast.KindDocument {
		before := r.source[:t.Segment.Start]
		if words := bytes.TrimRight(before, " \t"); len(words) == 0 || words[len(words)-1] == '\n' {
			s = string(before[len(words):]) + s
		}
	}
	if t.SoftLineBreak() || t.HardLineBreak() {
		s += "\n"
	}
	return s
}

// escape is at the beginning of a text. No name of a character has more than maxEscape.
var escape = regexp.MustCompile("^(?:\\\\[!-/:-@\\[-`{-~]|&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]*);|<(?i:br) ?/?>)")

const maxEscape = 40

// unescape resolves backslashes, character references and <br>.
func unescape(s string) string {
	if !strings.ContainsAny(s, `\&<`) {
		return s // it is clean
	}
	var b strings.Builder
	for s != "" {
		i := strings.IndexAny(s, `\&<`)
		if i < 0 {
			i = len(s)
		}
		b.WriteString(s[:i])
		s = s[i:]
		e := escape.FindString(s[:min(len(s), maxEscape)])
		switch {
		case s == "":
		case e == "": // the character stands for itself
			b.WriteByte(s[0])
			s = s[1:]
		case e[0] == '\\':
			b.WriteString(e[1:])
		case e[0] == '<':
			b.WriteByte('\n')
		default:
			b.WriteString(html.UnescapeString(e))
		}
		s = s[len(e):]
	}
	return clean(b.String())
}
