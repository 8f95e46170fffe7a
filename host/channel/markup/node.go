package markup

import (
	"encoding/json"
	"strings"
)

// Kind is what a Node is. The values are those of the page's JSON.
type Kind string

// The kinds: blocks, and what stands in a line.
const (
	Paragraph Kind = "p"
	Heading   Kind = "h"
	List      Kind = "list"
	Item      Kind = "item"
	Quote     Kind = "quote"
	Fence     Kind = "pre"
	Table     Kind = "table"
	Row       Kind = "row" // the first one is the table's head
	Cell      Kind = "cell"
	Rule      Kind = "rule"

	Text   Kind = ""
	Bold   Kind = "b"
	Italic Kind = "i"
	Strike Kind = "s"
	Mono   Kind = "code"
	Link   Kind = "a"
)

// Node is a piece of a parsed text. Its words hold no control characters but tabs
// and line breaks.
type Node struct {
	Kind  Kind   `json:"t"`
	Text  string `json:"v,omitempty"` // of Text, Mono and Fence
	URL   string `json:"u,omitempty"` // of a Link: http, https or mailto
	Label string `json:"l,omitempty"` // of an Item, such as "•" or "3."; of a Fence, its language
	Level int    `json:"n,omitempty"` // of a Heading, 1 to 6
	Right bool   `json:"r,omitempty"` // of a Cell: aligned to the right
	Kids  []Node `json:"c,omitempty"` // in order
	Tight bool   `json:"-"`           // of a block: no blank line before it
}

// MarshalJSON writes a Text as a string, and any other node as an object.
func (n Node) MarshalJSON() ([]byte, error) {
	if n.Kind == Text {
		return json.Marshal(n.Text)
	}
	type object Node
	return json.Marshal(object(n))
}

// words is the text of a node without formatting.
func (n Node) words() string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

func (n Node) write(to *strings.Builder) {
	to.WriteString(n.Text)
	for _, kid := range n.Kids {
		kid.write(to)
	}
}
