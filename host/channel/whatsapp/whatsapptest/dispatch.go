package whatsapptest

import (
	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest/wire"
)

// Withhold delivers a message of a group without its content, as WhatsApp does of what a
// linked device may not see. Why is "view_once", or empty.
func (s *Server) Withhold(group types.JID, from *Phone, to *Phone, id types.MessageID, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[group]
	for _, d := range to.linked() {
		d.deliver(wire.Parent("message", wire.Attrs{
			"id": id, "type": "text", "t": wire.Stamp(), "notify": from.name, "from": group, "participant": from.address(g.LID),
			"addressing_mode": g.mode(), alternative("participant", g.LID): from.address(!g.LID),
		}, wire.Node{Tag: "unavailable", Attrs: wire.Attrs{"type": why}}))
	}
	s.happened()
}

// Ring calls a phone, or a group that the phone is in. Nobody answers.
func (s *Server) Ring(group types.JID, from *Phone, to *Phone, id string, video bool) {
	s.RingAs(group, from, from, to, id, video)
}

// RingAs is Ring by an app that says in its offer that somebody else calls.
func (s *Server) RingAs(group types.JID, rings, from *Phone, to *Phone, id string, video bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	caller := from.JID()
	call := wire.Parent("offer", wire.Attrs{"call-id": id, "call-creator": caller, "caller_lid": from.LID()}, wire.Node{Tag: "audio"})
	if video {
		call.Content = append(call.GetChildren(), wire.Node{Tag: "video"})
	}
	if group.User != "" {
		call = wire.Parent("offer_notice", wire.Attrs{"call-id": id, "call-creator": caller, "caller_lid": from.LID(), "group-jid": group, "media": "audio", "type": "group"})
		if video {
			call.Attrs["media"] = "video"
		}
	}
	for _, d := range to.linked() {
		d.deliver(wire.Parent("call", wire.Attrs{"from": rings.JID(), "id": s.nextID(), "t": wire.Stamp()}, call))
	}
	s.happened()
}
