package whatsapptest

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest/wire"
)

// usync answers what is known of a list of accounts: their devices, their
// other name, whether a phone number has an account at all. Each answer
// stands under the address that was asked for. The caller holds the lock.
func (s *Server) usync(n *wire.Node) wire.Node {
	question := n.GetChildByTag("usync")
	query, list := question.GetChildByTag("query"), question.GetChildByTag("list")
	var users []wire.Node
	for _, user := range list.GetChildrenByTag("user") {
		jid := wire.Address(&user, "jid")
		contact := wire.Content(&user, "contact")
		if contact != nil {
			jid = types.NewJID(strings.TrimLeft(strings.Split(string(contact), "@")[0], "+"), types.DefaultUserServer)
		}
		if answer, ok := s.describe(jid, contact, &query); ok {
			users = append(users, answer)
		}
	}
	return result(n, wire.Parent("usync", wire.Attrs{"sid": wire.Text(&question, "sid"), "mode": wire.Text(&question, "mode")},
		wire.Parent("list", nil, users...)))
}

func (s *Server) describe(jid types.JID, contact []byte, query *wire.Node) (wire.Node, bool) {
	p := s.person(jid)
	if p == nil {
		if contact == nil {
			return wire.Node{}, false
		}
		return wire.Parent("user", wire.Attrs{"jid": jid}, wire.Node{Tag: "contact", Attrs: wire.Attrs{"type": "out"}, Content: contact}), true
	}
	user := wire.Parent("user", wire.Attrs{"jid": jid})
	var parts []wire.Node
	for _, part := range query.GetChildren() {
		switch part.Tag {
		case "devices":
			parts = append(parts, deviceList(p))
		case "lid":
			parts = append(parts, wire.Parent("lid", wire.Attrs{"val": p.LID()}))
		case "contact":
			parts = append(parts, wire.Node{Tag: "contact", Attrs: wire.Attrs{"type": "in"}, Content: contact})
		}
	}
	if len(parts) > 0 {
		user.Content = parts
	}
	return user, true
}

func deviceList(p *Phone) wire.Node {
	var devices []wire.Node
	for _, d := range p.linked() {
		devices = append(devices, wire.Parent("device", wire.Attrs{"id": wire.Number(int(d.id)), "key-index": wire.Number(int(d.keyIndex))}))
	}
	return wire.Parent("devices", nil, wire.Parent("device-list", nil, devices...))
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
