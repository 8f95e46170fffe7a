// Package wire speaks WhatsApp's protocol below the stanzas: frames on a websocket, the Noise
// handshake that encrypts them, and the nodes that a stanza consists of.
package wire

import (
	"strconv"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// Node is a stanza or a part of one: a tag, attributes, and either children
// or bytes.
type Node = waBinary.Node

type Attrs = waBinary.Attrs

func Parent(tag string, a Attrs, children ...Node) Node {
	n := Node{Tag: tag, Attrs: a}
	if len(children) > 0 {
		n.Content = children
	}
	return n
}

func Leaf(tag string, content []byte) Node {
	return Node{Tag: tag, Content: content}
}

// Text returns an attribute as text, a JID in its form; empty if it is missing.
func Text(n *Node, key string) string {
	switch v := n.Attrs[key].(type) {
	case string:
		return v
	case types.JID:
		return v.String()
	}
	return ""
}

// Address returns an attribute that holds a JID, the empty JID for any other.
func Address(n *Node, key string) types.JID {
	jid, _ := n.Attrs[key].(types.JID)
	return jid
}

// Content returns the bytes inside the first child of that tag.
func Content(n *Node, tag string) []byte {
	child := n.GetChildByTag(tag)
	return Raw(&child)
}

func Raw(n *Node) []byte {
	switch v := n.Content.(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	}
	return nil
}

func Has(n *Node, tag string) bool {
	_, ok := n.GetOptionalChildByTag(tag)
	return ok
}

func Stamp() string { return strconv.FormatInt(time.Now().Unix(), 10) }

func Number(n int) string { return strconv.Itoa(n) }
