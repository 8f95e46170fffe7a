package markup

import (
	"slices"
	"strings"

	"golang.org/x/text/width"
)

// table writes a table in columns if it is narrow enough for the platform's screens and
// has no links, and else as a list: each row under its first cell, the others with their
// column's name.
func (f *flow) table(n Node) {
	rows := make([][]string, len(n.Kids))
	var widths []int
	linked := false
	for i, row := range n.Kids {
		for j, cell := range row.Kids {
			words := strings.Join(strings.Fields(cell.words()), " ")
			rows[i] = append(rows[i], words)
			linked = linked || hasLink(cell.Kids)
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], columns(words))
		}
	}
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	if !linked && total <= f.width {
		f.code(inColumns(n, rows, widths), "")
		return
	}
	f.rows(n)
}

func hasLink(nodes []Node) bool {
	return slices.ContainsFunc(nodes, func(n Node) bool { return n.Kind == Link || hasLink(n.Kids) })
}

func inColumns(n Node, rows [][]string, widths []int) string {
	var lines []string
	for i, row := range rows {
		var cells []string
		for j, words := range row {
			space := strings.Repeat(" ", widths[j]-columns(words))
			if n.Kids[i].Kids[j].Right {
				words = space + words
			} else {
				words += space
			}
			cells = append(cells, words)
		}
		lines = append(lines, strings.TrimRight(strings.Join(cells, "  "), " "))
		if i == 0 {
			var rule []string
			for _, w := range widths {
				rule = append(rule, strings.Repeat("-", w))
			}
			lines = append(lines, strings.Join(rule, "  "))
		}
	}
	return strings.Join(lines, "\n")
}

// maxName is how long a column's name may be that each row repeats, in bytes.
const maxName = 40

// rows writes a table without columns. A name that is long stands in the first row only:
// a text would else grow with the square of its length.
func (f *flow) rows(n Node) {
	head := n.Kids[0].Kids
	size := make([]int, len(head))
	for j, cell := range head {
		if size[j] = len(cell.words()); hasLink(cell.Kids) {
			size[j] += maxName
		}
	}
	if len(n.Kids) == 1 {
		n.Kids = append(n.Kids, Node{Kind: Row, Kids: head})
	}
	for i, row := range n.Kids[1:] {
		if i > 0 {
			f.words("\n")
		}
		for j, cell := range row.Kids {
			switch {
			case cell.words() == "":
				continue
			case j == 0:
				f.as(Bold, "", func() { f.inline(cell.Kids) })
				continue
			}
			f.words("\n• ")
			f.indent += "  "
			if j < len(head) && size[j] > 0 && (i == 0 || size[j] <= maxName) {
				f.inline(head[j].Kids)
				f.words(": ")
			}
			f.inline(cell.Kids)
			f.indent = strings.TrimSuffix(f.indent, "  ")
		}
	}
}

// columns is how many columns of monospaced text a text takes.
func columns(s string) (n int) {
	for _, r := range s {
		switch width.LookupRune(r).Kind() {
		case width.EastAsianWide, width.EastAsianFullwidth:
			n++
		}
		n++
	}
	return n
}
