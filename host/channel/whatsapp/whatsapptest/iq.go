package whatsapptest

import (
	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest/wire"
)

// answerIQ answers a question. What the server does not know has an empty
// result, as most of WhatsApp's settings have for a young account.
func (sess *session) answerIQ(n *wire.Node) []wire.Node {
	if sess.pairAnswer(n) {
		return nil
	}
	if kind := wire.Text(n, "type"); kind != "get" && kind != "set" {
		return nil // the answer to one of ours
	}
	if reg, ok := n.GetOptionalChildByTag("link_code_companion_reg"); ok {
		return sess.linkCode(n, &reg)
	}
	if sess.device == nil {
		return []wire.Node{result(n)}
	}
	s := sess.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	switch wire.Text(n, "xmlns") {
	case "encrypt":
		return []wire.Node{sess.prekeys(n)}
	case "usync":
		return []wire.Node{s.usync(n)}
	case "w:g2":
		return []wire.Node{sess.groupQuery(n)}
	case "w:m":
		return []wire.Node{result(n, s.mediaConn())}
	case "privacy":
		return []wire.Node{result(n, wire.Parent("privacy", nil))}
	case "md":
		if wire.Has(n, "remove-companion-device") {
			s.unlink(sess.device)
		}
	}
	return []wire.Node{result(n)}
}

// pairAnswer hands the device's answer to its pairing to the phone.
func (sess *session) pairAnswer(n *wire.Node) bool {
	if sess.reg == nil {
		return false
	}
	sess.srv.mu.Lock()
	defer sess.srv.mu.Unlock()
	if wire.Text(n, "id") != sess.reg.pairID {
		return false
	}
	select {
	case sess.reg.answered <- n:
	default:
	}
	return true
}

// unlink takes a device from its account. The caller holds the lock.
func (s *Server) unlink(d *Device) {
	delete(d.owner.devices, d.id)
	s.happened()
}

func result(n *wire.Node, children ...wire.Node) wire.Node {
	from := wire.Address(n, "to")
	if from.IsEmpty() {
		from = types.ServerJID
	}
	return wire.Parent("iq", wire.Attrs{"from": from, "id": wire.Text(n, "id"), "type": "result"}, children...)
}

func iqError(n *wire.Node, code int) wire.Node {
	answer := result(n, wire.Parent("error", wire.Attrs{"code": wire.Number(code), "text": iqWords[code]}))
	answer.Attrs["type"] = "error"
	return answer
}

// iqWords go with the codes of iq errors; clients compare both.
var iqWords = map[int]string{
	400: "bad-request", 401: "not-authorized", 403: "forbidden", 404: "item-not-found", 405: "not-allowed",
	406: "not-acceptable", 410: "gone", 419: "resource-limit", 423: "locked", 429: "rate-overlimit",
	500: "internal-server-error", 501: "feature-not-implemented", 503: "service-unavailable",
}

// refusal is the answer with an error code that a stanza of that tag can have.
func refusal(n *wire.Node, code int) wire.Node {
	if n.Tag == "iq" {
		return iqError(n, code)
	}
	answer := ack(n)
	answer.Attrs["error"] = wire.Number(code)
	return answer
}

// ack confirms a stanza of a client. The sender of a message waits for it.
func ack(n *wire.Node) wire.Node {
	a := wire.Attrs{"class": n.Tag, "id": wire.Text(n, "id"), "from": wire.Address(n, "to"), "t": wire.Stamp()}
	if n.Tag == "receipt" && wire.Text(n, "type") != "" {
		a["type"] = wire.Text(n, "type")
	}
	return wire.Node{Tag: "ack", Attrs: a}
}
