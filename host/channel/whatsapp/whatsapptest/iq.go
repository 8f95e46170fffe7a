package whatsapptest

import (
	"go.mau.fi/whatsmeow/types"
)

// answerIQ answers a question. What the server does not know has an empty
// result, as most of WhatsApp's settings have for a young account.
func (sess *session) answerIQ(n *node) []node {
	if sess.pairAnswer(n) {
		return nil
	}
	if kind := text(n, "type"); kind != "get" && kind != "set" {
		return nil // the answer to one of ours
	}
	if reg, ok := n.GetOptionalChildByTag("link_code_companion_reg"); ok {
		return sess.linkCode(n, &reg)
	}
	if sess.device == nil {
		return []node{result(n)}
	}
	s := sess.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	switch text(n, "xmlns") {
	case "encrypt":
		return []node{sess.prekeys(n)}
	case "usync":
		return []node{s.usync(n)}
	case "w:g2":
		return []node{sess.groupQuery(n)}
	case "w:m":
		return []node{result(n, s.mediaConn())}
	case "privacy":
		return []node{result(n, parent("privacy", nil))}
	case "md":
		if has(n, "remove-companion-device") {
			s.unlink(sess.device)
		}
	}
	return []node{result(n)}
}

// pairAnswer hands the device's answer to its pairing to the phone.
func (sess *session) pairAnswer(n *node) bool {
	if sess.reg == nil {
		return false
	}
	sess.srv.mu.Lock()
	defer sess.srv.mu.Unlock()
	if text(n, "id") != sess.reg.pairID {
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

func result(n *node, children ...node) node {
	from := address(n, "to")
	if from.IsEmpty() {
		from = types.ServerJID
	}
	return parent("iq", attrs{"from": from, "id": text(n, "id"), "type": "result"}, children...)
}

func iqError(n *node, code int) node {
	answer := result(n, parent("error", attrs{"code": number(code), "text": iqWords[code]}))
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
func refusal(n *node, code int) node {
	if n.Tag == "iq" {
		return iqError(n, code)
	}
	answer := ack(n)
	answer.Attrs["error"] = number(code)
	return answer
}

// ack confirms a stanza of a client. The sender of a message waits for it.
func ack(n *node) node {
	a := attrs{"class": n.Tag, "id": text(n, "id"), "from": address(n, "to"), "t": stamp()}
	if n.Tag == "receipt" && text(n, "type") != "" {
		a["type"] = text(n, "type")
	}
	return node{Tag: "ack", Attrs: a}
}
