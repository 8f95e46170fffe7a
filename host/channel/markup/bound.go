package markup

import (
	"bytes"
	"slices"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// The library's parsers look at some texts again and again, in time that grows with the
// square of their length. So they pay for what they look at. When a text's work is used
// up, the marks in the rest of it are shown as they were written.
const (
	maxInput    = 64 << 10 // bytes of a text; a longer one is not parsed at all
	maxNested   = 16       // quotes and lists within each other
	workPerByte = 16       // bytes that may be looked at, for each byte of a text
	cellWork    = 8        // what a cell of a table costs
)

// work is what may still be looked at of one text.
type work struct {
	left    int
	marks   int          // delimiters in this block so far
	opened  map[byte]int // of these, by mark, those that wait for one that closes them
	open    []bracket
	escaped int // escaped pipes of the text's tables so far

	lastTicks map[int]int // of this block, see lastTicks; nil: not known yet
}

// bracket is an open bracket of the block: where its words begin, and the nodes before it.
type bracket struct{ at, nodes int }

var workKey = parser.NewContextKey()

// newWork returns the context of one parsing.
func newWork(bytes int) parser.Context {
	pc := parser.NewContext()
	pc.Set(workKey, &work{left: workPerByte * bytes, opened: map[byte]int{}})
	return pc
}

func workOf(pc parser.Context) *work { return pc.Get(workKey).(*work) }

// rest is how many bytes of a block come behind a place.
func rest(block ast.Node, at int) int {
	lines := block.Lines()
	return lines.At(lines.Len()-1).Stop - at
}

// codeParser leaves ticks that begin no code span alone. The library looks for the end of
// each up to the end of the block.
type codeParser struct{ parser.InlineParser }

// Parse implements parser.InlineParser.
func (p codeParser) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	w := workOf(pc)
	line, segment := block.PeekLine()
	n := ticks(line)
	if w.lastTicks == nil {
		w.lastTicks = lastTicks(parent, block.Source())
	}
	if w.lastTicks[n] > segment.Start {
		return p.InlineParser.Parse(parent, block, pc)
	}
	block.Advance(n)
	return ast.NewTextSegment(segment.WithStop(segment.Start + n))
}

// ticks is how many ticks a text begins with.
func ticks(text []byte) int { return len(text) - len(bytes.TrimLeft(text, "`")) }

// lastTicks are where the last ticks of each number in a block are.
func lastTicks(block ast.Node, source []byte) map[int]int {
	last := map[int]int{}
	for i := range block.Lines().Len() {
		line := block.Lines().At(i)
		for at := line.Start; at < line.Stop; at++ {
			if n := ticks(source[at:line.Stop]); n > 0 {
				last[n] = at
				at += n
			}
		}
	}
	return last
}

// linkParser pays for brackets: for what stands between them, and for an address or a
// title that never ends.
type linkParser struct{ parser.InlineParser }

// Parse implements parser.InlineParser.
func (p linkParser) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	w := workOf(pc)
	line, segment := block.PeekLine()
	if w.left <= 0 || line[0] == ']' && len(w.open) == 0 {
		return nil
	}
	if line[0] != ']' {
		n := p.InlineParser.Parse(parent, block, pc)
		if n != nil {
			w.open = append(w.open, bracket{segment.Start, parent.ChildCount()})
		}
		return n
	}
	last := w.open[len(w.open)-1]
	w.open = w.open[:len(w.open)-1]
	cost := parent.ChildCount() + parent.Lines().Len()
	if pc.LastDelimiter() == nil { // else the library goes back to the first node
		cost -= last.nodes
	}
	n := p.InlineParser.Parse(parent, block, pc)
	if n == nil {
		cost += segment.Start - last.at
	}
	if n == nil && len(line) > 1 && (line[1] == '(' || line[1] == '[') {
		cost += rest(parent, segment.Start)
	}
	w.left -= cost
	return n
}

// CloseBlock implements parser.CloseBlocker.
func (p linkParser) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	p.InlineParser.(parser.CloseBlocker).CloseBlock(parent, block, pc)
	w := workOf(pc)
	w.open, w.marks, w.lastTicks = w.open[:0], 0, nil
	clear(w.opened)
}

// delimiterParser pays for the delimiters of a block: the library compares each with all
// before it.
type delimiterParser struct{ parser.InlineParser }

// Parse implements parser.InlineParser.
func (p delimiterParser) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	w := workOf(pc)
	if w.left <= 0 {
		return nil
	}
	n := p.InlineParser.Parse(parent, block, pc)
	if n != nil {
		w.marks++
		w.left -= w.marks
	}
	if d, ok := n.(*parser.Delimiter); ok {
		w.note(d)
	}
	return n
}

// note counts what a delimiter opens, or takes from that what it closes.
func (w *work) note(d *parser.Delimiter) {
	switch waiting := w.opened[d.Char]; {
	case d.CanClose && waiting > 0:
		w.opened[d.Char] = max(0, waiting-d.OriginalLength)
	case d.CanOpen:
		w.opened[d.Char] += d.OriginalLength
	}
}

// sentence is how far before a closing bracket an opening one is looked for, in bytes.
const sentence = 256

// ends says whether a mark or a closing bracket ends what was opened before.
func (w *work) ends(c byte, before []byte) bool {
	if c != ')' {
		return w.opened[c] > 0
	}
	before = before[max(0, len(before)-sentence):]
	return bytes.Count(before, []byte("(")) > bytes.Count(before, []byte(")"))
}

// tableParser pays for a table's cells: each row has as many as the head, however short
// the row is. It also pays for escaped pipes, which the library compares with each other.
type tableParser struct{ parser.ParagraphTransformer }

// Transform implements parser.ParagraphTransformer.
func (p tableParser) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	w, lines, columns, escaped := workOf(pc), node.Lines(), 0, 0
	for i := range lines.Len() {
		line := lines.At(i)
		words := line.Value(reader.Source())
		columns = max(columns, bytes.Count(words, []byte("|")))
		escaped += bytes.Count(words, []byte(`\|`))
	}
	cost := (columns+1)*lines.Len()*cellWork + escaped*(w.escaped+escaped)
	if columns == 0 || cost > w.left { // a table of one column has pipes too
		return
	}
	w.escaped += escaped
	w.left -= cost
	p.ParagraphTransformer.Transform(node, reader, pc)
}

// shallow opens quotes and lists, but none that lies too deep.
type shallow struct{ parser.BlockParser }

// Open implements parser.BlockParser.
func (s shallow) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	nested := 0
	for n := parent; n != nil; n = n.Parent() {
		if slices.Contains([]ast.NodeKind{ast.KindBlockquote, ast.KindListItem}, n.Kind()) {
			nested++
		}
	}
	if nested >= maxNested {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, reader, pc)
}
