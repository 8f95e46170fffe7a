package markup

import (
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	"golang.org/x/text/width"
)

// cjkParser lets marks open and close formats beside text without spaces between its words,
// which CommonMark takes for the inside of a word: **注意：**请. The rules are those of
// https://github.com/tats-u/markdown-cjk-friendly/blob/main/specification.md.
type cjkParser struct{ parser.InlineParser }

// Parse implements parser.InlineParser.
func (p cjkParser) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, _ := block.PeekLine()
	before, after := block.PrecendingCharacter(), ' '
	n := p.InlineParser.Parse(parent, block, pc)
	d, ok := n.(*parser.Delimiter)
	if !ok {
		return n
	}
	if d.OriginalLength < len(line) {
		after = util.ToRune(line, d.OriginalLength)
	}
	if unspaced(before) || unspaced(after) {
		left, right := flanks(after, before), flanks(before, after)
		d.CanOpen, d.CanClose = left, right
		if d.Char == '_' { // which stands within names, such as 报告_2026_终版.pdf
			d.CanOpen = left && (!right || util.IsPunctRune(before))
			d.CanClose = right && (!left || util.IsPunctRune(after))
		}
	}
	return n
}

// flanks says whether a mark may belong to the character inside it, given the one outside.
func flanks(inside, outside rune) bool {
	return !util.IsSpaceRune(inside) &&
		(!util.IsPunctRune(inside) || unspaced(inside) || unspaced(outside) || util.IsSpaceRune(outside) || util.IsPunctRune(outside))
}

// unspaced says whether a character is of a script that puts no space before or after a
// word, or as wide as these are, such as their punctuation.
func unspaced(r rune) bool {
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth, width.EastAsianHalfwidth:
		return true
	}
	return unicode.In(r, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
