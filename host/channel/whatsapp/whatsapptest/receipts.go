package whatsapptest

import (
	"crypto/hkdf"
	"crypto/sha256"

	"go.mau.fi/whatsmeow/proto/waMmsRetry"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/gcmutil"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest/wire"
)

// receipt carries word of a message back to its sender. Without a type it was
// delivered; inactive means delivered to a device nobody looks at; then there
// are read and played. They go to all devices of the sender's account. retry
// asks the one device that encrypted the message to do it again.
func (sess *session) receipt(n *wire.Node, copies int) wire.Node {
	s := sess.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := wire.Text(n, "type")
	if kind != "retry" { // what did not decrypt is confirmed by an ack of its own
		sess.device.received("message", n)
	}
	switch kind {
	case "server-error":
		sess.reupload(n)
		return ack(n)
	case "sender", "peer_msg", "hist_sync", "read-self", "played-self":
		return ack(n) // between an account's own devices: not shown to anybody
	}
	author := wire.Address(n, "to")
	a := wire.Attrs{"id": wire.Text(n, "id"), "t": wire.Stamp()}
	if kind != "" {
		a["type"] = kind
	}
	if g := s.groups[author]; g != nil {
		author = wire.Address(n, "participant")
		a["from"], a["participant"], a["addressing_mode"] = g.JID, sess.device.jid(g.LID), g.mode()
		a[alternative("participant", g.LID)] = sess.device.owner.address(!g.LID)
	} else {
		lid := author.Server == types.HiddenUserServer
		a["from"] = sess.device.jid(lid)
		a[alternative("sender", lid)] = sess.device.owner.address(!lid)
		if r := wire.Address(n, "recipient"); !r.IsEmpty() {
			a["recipient"] = r
		}
	}
	for range copies {
		for _, d := range s.receiptTargets(author, kind) {
			if d != sess.device {
				d.deliver(wire.Node{Tag: "receipt", Attrs: a, Content: n.Content})
			}
		}
	}
	s.happened()
	return ack(n)
}

func (s *Server) receiptTargets(author types.JID, kind string) []*Device {
	if kind == "retry" {
		if d := s.find(author); d != nil {
			return []*Device{d}
		}
		return nil
	}
	if p := s.person(author); p != nil {
		return p.linked()
	}
	return nil
}

// ownedFile is what a phone that still has a file needs to upload it again.
type ownedFile struct {
	key  []byte // the message's media key
	name string // of the upload
}

// reupload answers a device that found a file expired. It asks its own phone,
// which asks the sender's; the answer is a new path, encrypted under a key
// made of the file's. Without a phone that has the file it is error 2.
func (sess *session) reupload(n *wire.Node) {
	s, id := sess.srv, wire.Text(n, "id")
	rmr := n.GetChildByTag("rmr")
	answer := wire.Attrs{"from": wire.Address(n, "to"), "type": "mediaretry", "id": id, "t": wire.Stamp()}
	owned, ok := s.fileKey[id]
	if !ok {
		sess.device.deliver(wire.Parent("notification", answer, rmr, wire.Parent("error", wire.Attrs{"code": "2"})))
		return
	}
	plain, err := proto.Marshal(&waMmsRetry.MediaRetryNotification{
		StanzaID:   proto.String(id),
		DirectPath: proto.String(s.renew(owned.name)),
		Result:     waMmsRetry.MediaRetryNotification_SUCCESS.Enum(),
	})
	if err != nil {
		return
	}
	key, err := hkdf.Key(sha256.New, owned.key, nil, "WhatsApp Media Retry Notification", 32)
	if err != nil {
		return
	}
	iv := random(12)
	sealed, err := gcmutil.Encrypt(key, iv, plain, []byte(id))
	if err != nil {
		return
	}
	sess.device.deliver(wire.Parent("notification", answer, rmr,
		wire.Parent("encrypt", nil, wire.Leaf("enc_p", sealed), wire.Leaf("enc_iv", iv))))
}
