package whatsapptest

import (
	"strconv"

	"go.mau.fi/whatsmeow/types"
)

// welcome decides what a fresh socket is: a device that wants to be paired,
// or one that logs in.
func (sess *session) welcome(g greeting) {
	s := sess.srv
	if s.opts.RefuseOlder && g.payload.GetUserAgent().GetAppVersion().GetTertiary() < s.opts.Revision {
		sess.end(failure(405)) // client outdated
		return
	}
	who := strconv.FormatUint(g.payload.GetUsername(), 10)
	if act := s.take(occasion{on: OnLogin, phone: who}); act != nil {
		switch act.fault.Do {
		case Cut, Swallow:
			sess.cancel()
			return
		case Hold:
			if !act.wait(sess.ctx) {
				return
			}
		default:
			n := failure(act.fault.Code)
			if act.fault.Expire > 0 {
				n.Attrs["code"] = number(act.fault.BanCode)
				n.Attrs["expire"] = number(int(act.fault.Expire.Seconds()))
			}
			sess.end(n)
			return
		}
	}
	if g.payload.GetDevicePairingData() != nil {
		sess.register(g)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.people[who]
	if p == nil {
		sess.end(failure(401))
		return
	}
	d := p.devices[uint16(g.payload.GetDevice())]
	if d == nil || d.noise != g.static {
		sess.end(failure(401)) // no longer linked
		return
	}
	if d.session != nil {
		d.session.end(conflict(409, "replaced"))
	}
	sess.login(d)
}

// login greets the device and hands it what it has not acked. The caller
// holds the lock.
func (sess *session) login(d *Device) {
	sess.device, d.session = d, sess
	sess.send(parent("success", attrs{
		"t": stamp(), "props": "27", "lid": d.jid(true), "location": "loopback", "companion_enc_static": "",
	}))
	for i, n := range d.pending {
		late := node{Tag: n.Tag, Attrs: attrs{"offline": number(i)}, Content: n.Content}
		for k, v := range n.Attrs {
			late.Attrs[k] = v
		}
		sess.send(late)
	}
	sess.send(parent("ib", attrs{"from": types.ServerJID},
		parent("offline", attrs{"count": number(len(d.pending))})))
	sess.srv.happened()
}

// received strikes off what the device has confirmed: a message it could
// decrypt by a receipt, all else by an ack. Either names the stanza by its id
// and, as its own addressee, whom it was from. The caller holds the lock.
func (d *Device) received(tag string, n *node) {
	for i := range d.pending {
		p := &d.pending[i]
		if p.Tag == tag && text(p, "id") == text(n, "id") &&
			text(p, "from") == text(n, "to") && text(p, "participant") == text(n, "participant") {
			d.pending = append(d.pending[:i:i], d.pending[i+1:]...)
			d.owner.srv.happened()
			return
		}
	}
}

func failure(reason int) node {
	return parent("failure", attrs{"reason": number(reason), "location": "loopback"})
}

func streamError(code int) node {
	return parent("stream:error", attrs{"code": number(code)})
}

func conflict(code int, kind string) node {
	return parent("stream:error", attrs{"code": number(code)}, parent("conflict", attrs{"type": kind}))
}
