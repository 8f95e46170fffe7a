package whatsapptest

import (
	"strconv"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// node is a stanza or a part of one: a tag, attributes, and either children
// or bytes.
type node = waBinary.Node

type attrs = waBinary.Attrs

func parent(tag string, a attrs, children ...node) node {
	n := node{Tag: tag, Attrs: a}
	if len(children) > 0 {
		n.Content = children
	}
	return n
}

func leaf(tag string, content []byte) node {
	return node{Tag: tag, Content: content}
}

// text is an attribute as it reads, a JID's form included; "" where missing.
func text(n *node, key string) string {
	switch v := n.Attrs[key].(type) {
	case string:
		return v
	case types.JID:
		return v.String()
	}
	return ""
}

// address is an attribute that holds a JID; the empty one where it does not.
func address(n *node, key string) types.JID {
	jid, _ := n.Attrs[key].(types.JID)
	return jid
}

// content is the bytes inside the first child of that tag.
func content(n *node, tag string) []byte {
	child := n.GetChildByTag(tag)
	return raw(&child)
}

func raw(n *node) []byte {
	switch v := n.Content.(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	}
	return nil
}

func has(n *node, tag string) bool {
	_, ok := n.GetOptionalChildByTag(tag)
	return ok
}

func stamp() string { return strconv.FormatInt(time.Now().Unix(), 10) }

func number(n int) string { return strconv.Itoa(n) }
