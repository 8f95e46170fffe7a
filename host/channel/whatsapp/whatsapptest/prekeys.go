package whatsapptest

import (
	"crypto/sha1"
	"slices"

	"go.mau.fi/libsignal/ecc"
)

// keyBundle is what others need to begin a Signal session with a device that
// may be offline: its identity, a key signed by it, and one-time keys, each of
// which is handed out once. The server keeps the nodes as they came.
type keyBundle struct {
	registration []byte
	identity     []byte
	signed       node   // skey
	oneTime      []node // key
}

// prekeys counts, stores and hands out keys. The caller holds the lock.
func (sess *session) prekeys(n *node) node {
	own := &sess.device.bundle
	switch {
	case has(n, "count"):
		count := len(own.oneTime)
		if sess.srv.opts.FewKeys {
			count = max(count, 1)
		}
		return result(n, parent("count", attrs{"value": number(count)}))
	case has(n, "digest"):
		if own.identity == nil {
			return iqError(n, 404)
		}
		return result(n, own.digest())
	case has(n, "key"):
		asked := n.GetChildByTag("key")
		var users []node
		for _, user := range asked.GetChildrenByTag("user") {
			users = append(users, sess.srv.handOut(&user))
		}
		return result(n, parent("list", nil, users...))
	case text(n, "type") == "set" && has(n, "list"):
		list := n.GetChildByTag("list")
		own.registration = content(n, "registration")
		own.identity = content(n, "identity")
		own.signed = n.GetChildByTag("skey")
		own.oneTime = append(own.oneTime, list.GetChildrenByTag("key")...)
		sess.srv.happened()
	}
	return result(n)
}

// handOut gives one device's bundle, its next one-time key in it. The address
// is echoed: clients look their question up by it.
func (s *Server) handOut(user *node) node {
	jid := address(user, "jid")
	d := s.find(jid)
	if d == nil {
		return parent("user", attrs{"jid": jid}, parent("error", attrs{"code": "404", "text": "item-not-found"}))
	}
	b := &d.bundle
	parts := []node{
		leaf("registration", b.registration), leaf("type", []byte{ecc.DjbType}), leaf("identity", b.identity), b.signed,
	}
	if len(b.oneTime) > 0 {
		parts = append(parts, b.oneTime[0])
		b.oneTime = b.oneTime[1:]
	}
	return parent("user", attrs{"jid": jid, "t": stamp()}, parts...)
}

// digest is what the server has of a bundle, so that its device can compare:
// the public parts, the ids of the one-time keys that are left, and a SHA-1 over
// identity, signed key, its signature and the one-time keys. Clients upload
// their keys anew if there is no digest.
func (b *keyBundle) digest() node {
	sum := slices.Concat(b.identity, content(&b.signed, "value"), content(&b.signed, "signature"))
	var ids []node
	for _, key := range b.oneTime {
		ids = append(ids, leaf("id", content(&key, "id")))
		sum = append(sum, content(&key, "value")...)
	}
	hash := sha1.Sum(sum)
	return parent("digest", nil,
		leaf("registration", b.registration), leaf("type", []byte{ecc.DjbType}), leaf("identity", b.identity), b.signed,
		parent("list", nil, ids...), leaf("hash", hash[:]))
}
