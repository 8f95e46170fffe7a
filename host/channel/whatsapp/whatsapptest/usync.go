package whatsapptest

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"go.mau.fi/whatsmeow/types"
)

// usync answers what is known of a list of accounts: their devices, their
// other name, whether a phone number has an account at all. Each answer
// stands under the address that was asked for. The caller holds the lock.
func (s *Server) usync(n *node) node {
	question := n.GetChildByTag("usync")
	query, list := question.GetChildByTag("query"), question.GetChildByTag("list")
	var users []node
	for _, user := range list.GetChildrenByTag("user") {
		jid := address(&user, "jid")
		contact := content(&user, "contact")
		if contact != nil {
			jid = types.NewJID(strings.TrimLeft(strings.Split(string(contact), "@")[0], "+"), types.DefaultUserServer)
		}
		if answer, ok := s.describe(jid, contact, &query); ok {
			users = append(users, answer)
		}
	}
	return result(n, parent("usync", attrs{"sid": text(&question, "sid"), "mode": text(&question, "mode")},
		parent("list", nil, users...)))
}

func (s *Server) describe(jid types.JID, contact []byte, query *node) (node, bool) {
	p := s.person(jid)
	if p == nil {
		if contact == nil {
			return node{}, false
		}
		return parent("user", attrs{"jid": jid}, node{Tag: "contact", Attrs: attrs{"type": "out"}, Content: contact}), true
	}
	user := parent("user", attrs{"jid": jid})
	var parts []node
	for _, part := range query.GetChildren() {
		switch part.Tag {
		case "devices":
			parts = append(parts, deviceList(p))
		case "lid":
			parts = append(parts, parent("lid", attrs{"val": p.LID()}))
		case "contact":
			parts = append(parts, node{Tag: "contact", Attrs: attrs{"type": "in"}, Content: contact})
		}
	}
	if len(parts) > 0 {
		user.Content = parts
	}
	return user, true
}

func deviceList(p *Phone) node {
	var devices []node
	for _, d := range p.linked() {
		devices = append(devices, parent("device", attrs{"id": number(int(d.id)), "key-index": number(int(d.keyIndex))}))
	}
	return parent("devices", nil, parent("device-list", nil, devices...))
}

// listHash is the hash ("phash") by which a server tells a sender that the
// list of devices it wrote to is out of date.
func listHash(devices []types.JID) string {
	names := make([]string, len(devices))
	for i, jid := range devices {
		names[i] = jid.ADString()
	}
	slices.Sort(names)
	sum := sha256.Sum256([]byte(strings.Join(names, "")))
	return "2:" + base64.RawStdEncoding.EncodeToString(sum[:6])
}
