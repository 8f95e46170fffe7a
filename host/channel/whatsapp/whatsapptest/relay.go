package whatsapptest

import (
	"slices"

	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest/wire"
)

// relay passes a message on and returns the ack. In comes
//
//	<message id to type phash>
//	  <participants> (<to jid=device> <enc type=pkmsg|msg/> </to>)* </participants>?
//	  <enc type=skmsg/>                    in a group: once for all
//	  <device-identity/>                   when one of them begins a session
//	</message>
//
// and out goes, to each device, the part that is encrypted for it. A group
// message has no participants if every device has the sender key already.
func (sess *session) relay(n *wire.Node, copies int) wire.Node {
	s := sess.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	to := wire.Address(n, "to")
	answer := ack(n)
	if wire.Text(n, "category") == "peer" {
		return answer // for the sender's own phone, which has no use for it here
	}
	retry := isRetry(n, to)
	var targets []*Device
	if to.Server == types.GroupServer {
		g := s.groups[to]
		if code := refuseGroup(g, sess.device.owner); code != 0 {
			return refusal(n, code)
		}
		for _, member := range g.Members {
			targets = append(targets, s.people[member].linked()...)
		}
		checkHash(n, &answer, targets, g.LID)
	} else {
		p := s.person(to)
		if p == nil {
			return refusal(n, 404)
		}
		targets = p.linked()
		if p != sess.device.owner {
			targets = append(targets, sess.device.owner.linked()...)
		}
		checkHash(n, &answer, targets, to.Server == types.HiddenUserServer)
	}
	if retry {
		targets = s.retryTarget(n)
	}
	sess.fanOut(n, targets, copies)
	s.record(sess.device, n, retry)
	return answer
}

func refuseGroup(g *Group, sender *Phone) int {
	switch {
	case g == nil:
		return 404
	case !g.member(sender.number):
		return 403
	case !g.mayPost(sender.number):
		return 420
	}
	return 0
}

// checkHash tells a sender whose list of devices differs from the server's.
func checkHash(n, answer *wire.Node, targets []*Device, lid bool) {
	theirs := wire.Text(n, "phash")
	if theirs == "" {
		return
	}
	devices := make([]types.JID, len(targets))
	for i, d := range targets {
		devices[i] = d.jid(lid)
	}
	if ours := listHash(devices); ours != theirs {
		answer.Attrs["phash"] = ours
	}
}

// isRetry tells whether a message is encrypted for one device alone, which asked
// for it again: in a group the message names that device as its participant, in
// a direct chat it is not split among devices.
func isRetry(n *wire.Node, to types.JID) bool {
	if to.Server == types.GroupServer {
		return !wire.Address(n, "participant").IsEmpty()
	}
	return !wire.Has(n, "participants")
}

// retryTarget is the one device that asked for a message again.
func (s *Server) retryTarget(n *wire.Node) []*Device {
	jid := wire.Address(n, "participant")
	if jid.IsEmpty() {
		jid = wire.Address(n, "to")
	}
	if d := s.find(jid); d != nil {
		return []*Device{d}
	}
	return nil
}

// fanOut delivers the message to each target but the sender.
func (sess *session) fanOut(n *wire.Node, targets []*Device, copies int) {
	own := map[*Device]wire.Node{}
	participants := n.GetChildByTag("participants")
	for _, to := range participants.GetChildrenByTag("to") {
		if d := sess.srv.find(wire.Address(&to, "jid")); d != nil {
			own[d] = to.GetChildByTag("enc")
		}
	}
	common := n.GetChildrenByTag("enc")
	identity, hasIdentity := n.GetOptionalChildByTag("device-identity")
	for _, d := range targets {
		if d == sess.device {
			continue
		}
		var parts []wire.Node
		if enc, ok := own[d]; ok && enc.Tag == "enc" {
			parts = append(parts, enc)
		}
		parts = append(parts, common...)
		if len(parts) == 0 {
			continue // the sender knew nothing of this device
		}
		if hasIdentity && slices.ContainsFunc(parts, func(e wire.Node) bool { return wire.Text(&e, "type") == "pkmsg" }) {
			parts = append(parts, identity)
		}
		for range copies {
			d.deliver(wire.Parent("message", sess.envelope(n, d), parts...))
		}
	}
	sess.srv.happened()
}

// envelope says to a receiver whom a message is from, by both of the sender's
// addresses.
func (sess *session) envelope(n *wire.Node, receiver *Device) wire.Attrs {
	to, sender := wire.Address(n, "to"), sess.device
	a := wire.Attrs{"id": wire.Text(n, "id"), "type": wire.Text(n, "type"), "t": wire.Stamp(), "notify": sender.owner.name}
	if edit := wire.Text(n, "edit"); edit != "" {
		a["edit"] = edit
	}
	if g := sess.srv.groups[to]; g != nil {
		a["from"], a["participant"], a["addressing_mode"] = to, sender.jid(g.LID), g.mode()
		a[alternative("participant", g.LID)] = sender.owner.address(!g.LID)
		if robot := sender.owner.JID(); robot.IsBot() { // which has neither devices nor a hidden id
			a["participant"] = robot
			delete(a, alternative("participant", g.LID))
		}
		return a
	}
	lid := to.Server == types.HiddenUserServer
	a["from"] = sender.jid(lid)
	if receiver.owner != sender.owner {
		a[alternative("sender", lid)] = sender.owner.address(!lid)
		return a
	}
	chat := to // an echo of what another device of the account wrote
	if r := wire.Address(n, "recipient"); !r.IsEmpty() {
		chat = r
	}
	a["recipient"] = chat.ToNonAD()
	if p := sess.srv.person(chat); p != nil {
		a[alternative("peer_recipient", lid)] = p.address(!lid)
	}
	return a
}

// alternative names the attribute that holds the other address.
func alternative(who string, lid bool) string {
	if lid {
		return who + "_pn"
	}
	return who + "_lid"
}

// typing passes "is writing" on to whoever is online; it is not kept.
func (sess *session) typing(n *wire.Node) {
	s := sess.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	to := wire.Address(n, "to")
	people, a := []string{}, wire.Attrs{"from": sess.device.jid(to.Server == types.HiddenUserServer)}
	if g := s.groups[to]; g != nil {
		people = g.Members
		a = wire.Attrs{"from": to, "participant": sess.device.jid(g.LID), "addressing_mode": g.mode()}
	} else if p := s.person(to); p != nil {
		people = append(people, p.number)
	}
	for _, member := range people {
		for _, d := range s.people[member].linked() {
			if d != sess.device && d.session != nil {
				d.session.send(wire.Node{Tag: "chatstate", Attrs: a, Content: n.GetChildren()})
			}
		}
	}
}
