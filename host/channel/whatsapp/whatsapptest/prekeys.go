package whatsapptest

import (
	"crypto/sha1"
	"slices"

	"go.mau.fi/libsignal/ecc"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest/wire"
)

// keyBundle is what others need to begin a Signal session with a device that
// may be offline: its identity, a key signed by it, and one-time keys, each of
// which is handed out once. The server keeps the nodes as they came.
type keyBundle struct {
	registration []byte
	identity     []byte
	signed       wire.Node   // skey
	oneTime      []wire.Node // key
}

// prekeys counts, stores and hands out keys. The caller holds the lock.
func (sess *session) prekeys(n *wire.Node) wire.Node {
	own := &sess.device.bundle
	switch {
	case wire.Has(n, "count"):
		count := len(own.oneTime)
		if sess.srv.opts.FewKeys {
			count = max(count, 1)
		}
		return result(n, wire.Parent("count", wire.Attrs{"value": wire.Number(count)}))
	case wire.Has(n, "digest"):
		if own.identity == nil {
			return iqError(n, 404)
		}
		return result(n, own.digest())
	case wire.Has(n, "key"):
		asked := n.GetChildByTag("key")
		var users []wire.Node
		for _, user := range asked.GetChildrenByTag("user") {
			users = append(users, sess.srv.handOut(&user))
		}
		return result(n, wire.Parent("list", nil, users...))
	case wire.Text(n, "type") == "set" && wire.Has(n, "list"):
		list := n.GetChildByTag("list")
		own.registration = wire.Content(n, "registration")
		own.identity = wire.Content(n, "identity")
		own.signed = n.GetChildByTag("skey")
		own.oneTime = append(own.oneTime, list.GetChildrenByTag("key")...)
		sess.srv.happened()
	}
	return result(n)
}

// handOut gives one device's bundle, its next one-time key in it. The address
// is echoed: clients look their question up by it.
func (s *Server) handOut(user *wire.Node) wire.Node {
	jid := wire.Address(user, "jid")
	d := s.find(jid)
	if d == nil {
		return wire.Parent("user", wire.Attrs{"jid": jid}, wire.Parent("error", wire.Attrs{"code": "404", "text": "item-not-found"}))
	}
	b := &d.bundle
	parts := []wire.Node{
		wire.Leaf("registration", b.registration), wire.Leaf("type", []byte{ecc.DjbType}), wire.Leaf("identity", b.identity), b.signed,
	}
	if len(b.oneTime) > 0 {
		parts = append(parts, b.oneTime[0])
		b.oneTime = b.oneTime[1:]
	}
	return wire.Parent("user", wire.Attrs{"jid": jid, "t": wire.Stamp()}, parts...)
}

// digest is what the server has of a bundle, so that its device can compare:
// the public parts, the ids of the one-time keys that are left, and a SHA-1 over
// identity, signed key, its signature and the one-time keys. Clients upload
// their keys anew if there is no digest.
func (b *keyBundle) digest() wire.Node {
	sum := slices.Concat(b.identity, wire.Content(&b.signed, "value"), wire.Content(&b.signed, "signature"))
	var ids []wire.Node
	for _, key := range b.oneTime {
		ids = append(ids, wire.Leaf("id", wire.Content(&key, "id")))
		sum = append(sum, wire.Content(&key, "value")...)
	}
	hash := sha1.Sum(sum)
	return wire.Parent("digest", nil,
		wire.Leaf("registration", b.registration), wire.Leaf("type", []byte{ecc.DjbType}), wire.Leaf("identity", b.identity), b.signed,
		wire.Parent("list", nil, ids...), wire.Leaf("hash", hash[:]))
}
