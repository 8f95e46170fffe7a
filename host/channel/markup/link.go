package markup

import (
	"bytes"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// maxURL is the longest address that is a link, in bytes.
const maxURL = 2000

// link makes a link of an address and the words for it. If the words look like an
// address themselves, the link's own address takes their place, so that nobody is
// sent elsewhere than the words say. An address that is none for a browser stays
// beside its words, as text.
func link(address string, label []Node) []Node {
	address = strings.TrimSpace(address)
	words := strings.TrimSpace(Node{Kids: label}.words())
	if !isLink(address) {
		if words == "" || words == address {
			return []Node{{Text: address}}
		}
		return append(label, Node{Text: " (" + address + ")"})
	}
	scheme, rest, _ := strings.Cut(safeURL.Replace(address), ":")
	address = strings.ToLower(scheme) + ":" + rest
	if words == "" || deceptive(words, address) {
		label = []Node{{Text: strings.TrimPrefix(address, "mailto:")}}
	}
	return []Node{{Kind: Link, URL: address, Kids: withoutLinks(label)}}
}

// safeURL encodes what an address may not hold and what ends one on some platform.
var safeURL = strings.NewReplacer(" ", "%20", "<", "%3C", ">", "%3E", "|", "%7C", `"`, "%22", "`", "%60", "\\", "%5C", "^", "%5E", "{", "%7B", "}", "%7D", "\n", "", "\t", "")

// isLink says whether an address is one that members may be led to: of the web or
// of a mailbox, without a user's name before the host's, which looks like a host.
func isLink(address string) bool {
	u, err := url.Parse(address)
	if err != nil || len(address) > maxURL || u.User != nil || strings.ContainsFunc(address, unseen) {
		return false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		return u.Host != ""
	case "mailto":
		return u.Opaque != ""
	}
	return false
}

// addressParser makes links of the addresses in a text. The library's own parser looks
// through the rest of the line at each space.
type addressParser struct{}

// beforeAddress is what an address may stand behind, beside the beginning of a line.
const beforeAddress = " *_~("

// Trigger implements parser.InlineParser. A space also stands for the beginning of a line.
func (addressParser) Trigger() []byte { return []byte(beforeAddress) }

// Parse implements parser.InlineParser.
func (addressParser) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, segment := block.PeekLine()
	before := 0
	if strings.IndexByte(beforeAddress, line[0]) >= 0 {
		before = 1
	}
	n := addressLen(line[before:], func(end byte) bool { return workOf(pc).ends(end, block.Source()[:segment.Start+before]) })
	if n == 0 || pc.IsInLinkLabel() {
		return nil
	}
	if before > 0 {
		ast.MergeOrAppendTextSegment(parent, segment.WithStop(segment.Start+before))
	}
	block.Advance(before + n)
	start := segment.Start + before
	return ast.NewAutoLink(ast.AutoLinkURL, ast.NewTextSegment(text.NewSegment(start, start+n)))
}

// addressLen is the length of the address with which a line begins, or 0. What ends a
// sentence is not a part of it, nor a bracket that was not opened in it or a mark, if it ends
// something before the address.
func addressLen(line []byte, ends func(byte) bool) int {
	scheme := 0
	for _, s := range []string{"http://", "https://"} {
		if bytes.HasPrefix(line, []byte(s)) {
			scheme = len(s)
		}
	}
	if scheme == 0 {
		return 0
	}
	n := bytes.IndexFunc(line, func(r rune) bool {
		return strings.ContainsRune(" \t\n\f\r<>\"'`", r) || unicode.IsPunct(r) && unspaced(r)
	})
	if n < 0 {
		n = len(line)
	}
	for i, depth := scheme, 0; i < n; i++ {
		switch c := line[i]; {
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		case c == ')' && ends(c):
			n = i
		}
	}
	for ; n > scheme; n-- {
		switch c := line[n-1]; {
		case strings.IndexByte("*_~", c) >= 0 && ends(c), strings.IndexByte("?!.,:", c) >= 0:
		case c == ';':
			name := bytes.TrimRightFunc(line[scheme:n-1], isASCIIWord)
			if !bytes.HasSuffix(name, []byte("&")) || scheme+len(name) == n-1 {
				return n
			}
			n = scheme + len(name)
		default:
			return n
		}
	}
	return 0
}

// unseen says of a character that nobody sees it in an address.
func unseen(r rune) bool { return r != ' ' && !unicode.IsGraphic(r) }

// addressLike is what members take for an address: a scheme, a mailbox, a host's name or
// number, whatever dot is in it and whatever invisible stands beside the dot.
var addressLike = regexp.MustCompile(`(?i)://|^www\.|@|[\pL\pN-][\pM\p{Cf}]*[.。．｡․][\pM\p{Cf}]*\pL[\pL\pN-]|\d{1,3}(?:\.\d{1,3}){3}`)

// deceptive says whether the words of a link look like another address.
func deceptive(words, address string) bool {
	if !addressLike.MatchString(words) {
		return false
	}
	bare := func(s string) string {
		s = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(s, "mailto:"), "https://"), "http://")
		return strings.TrimSuffix(s, "/")
	}
	return bare(safeURL.Replace(words)) != bare(address)
}

// withoutLinks is a link's label without links of its own.
func withoutLinks(label []Node) (flat []Node) {
	for _, n := range label {
		n.Kids = withoutLinks(n.Kids)
		if n.Kind == Link {
			flat = append(flat, n.Kids...)
			continue
		}
		flat = append(flat, n)
	}
	return flat
}
