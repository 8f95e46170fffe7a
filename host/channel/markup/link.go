package markup

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"
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
