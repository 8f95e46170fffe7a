package whatsapptest

import (
	"strconv"

	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest/wire"
)

// welcome decides what a fresh socket is: a device that wants to be paired,
// or one that logs in.
func (sess *session) welcome(g wire.Greeting) {
	s := sess.srv
	if s.opts.RefuseOlder && g.Payload.GetUserAgent().GetAppVersion().GetTertiary() < s.opts.Revision {
		sess.end(failure(405)) // client outdated
		return
	}
	who := strconv.FormatUint(g.Payload.GetUsername(), 10)
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
				n.Attrs["code"] = wire.Number(act.fault.BanCode)
				n.Attrs["expire"] = wire.Number(int(act.fault.Expire.Seconds()))
			}
			sess.end(n)
			return
		}
	}
	if g.Payload.GetDevicePairingData() != nil {
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
	d := p.devices[uint16(g.Payload.GetDevice())]
	if d == nil || d.noise != g.Static {
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
	sess.send(wire.Parent("success", wire.Attrs{
		"t": wire.Stamp(), "props": "27", "lid": d.jid(true), "location": "loopback", "companion_enc_static": "",
	}))
	for i, n := range d.pending {
		late := wire.Node{Tag: n.Tag, Attrs: wire.Attrs{"offline": wire.Number(i)}, Content: n.Content}
		for k, v := range n.Attrs {
			late.Attrs[k] = v
		}
		sess.send(late)
	}
	sess.send(wire.Parent("ib", wire.Attrs{"from": types.ServerJID},
		wire.Parent("offline", wire.Attrs{"count": wire.Number(len(d.pending))})))
	sess.srv.happened()
}

// received strikes off what the device has confirmed: a message it could
// decrypt by a receipt, all else by an ack. Either names the stanza by its id
// and, as its own addressee, whom it was from. The caller holds the lock.
func (d *Device) received(tag string, n *wire.Node) {
	for i := range d.pending {
		p := &d.pending[i]
		if p.Tag == tag && wire.Text(p, "id") == wire.Text(n, "id") &&
			wire.Text(p, "from") == wire.Text(n, "to") && wire.Text(p, "participant") == wire.Text(n, "participant") {
			d.pending = append(d.pending[:i:i], d.pending[i+1:]...)
			d.owner.srv.happened()
			return
		}
	}
}

func failure(reason int) wire.Node {
	return wire.Parent("failure", wire.Attrs{"reason": wire.Number(reason), "location": "loopback"})
}

func streamError(code int) wire.Node {
	return wire.Parent("stream:error", wire.Attrs{"code": wire.Number(code)})
}

func conflict(code int, kind string) wire.Node {
	return wire.Parent("stream:error", wire.Attrs{"code": wire.Number(code)}, wire.Parent("conflict", wire.Attrs{"type": kind}))
}
