package whatsapptest

import (
	"go.mau.fi/whatsmeow/types"
)

// Withhold delivers a message of a group without its content, as WhatsApp does of what a
// linked device may not see. Why is "view_once", or empty.
func (s *Server) Withhold(group types.JID, from *Phone, to *Phone, id types.MessageID, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[group]
	for _, d := range to.linked() {
		d.deliver(parent("message", attrs{
			"id": id, "type": "text", "t": stamp(), "notify": from.name, "from": group, "participant": from.address(g.LID),
			"addressing_mode": g.mode(), alternative("participant", g.LID): from.address(!g.LID),
		}, node{Tag: "unavailable", Attrs: attrs{"type": why}}))
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
	call := parent("offer", attrs{"call-id": id, "call-creator": caller, "caller_lid": from.LID()}, node{Tag: "audio"})
	if video {
		call.Content = append(call.GetChildren(), node{Tag: "video"})
	}
	if group.User != "" {
		call = parent("offer_notice", attrs{"call-id": id, "call-creator": caller, "caller_lid": from.LID(), "group-jid": group, "media": "audio", "type": "group"})
		if video {
			call.Attrs["media"] = "video"
		}
	}
	for _, d := range to.linked() {
		d.deliver(parent("call", attrs{"from": rings.JID(), "id": s.nextID(), "t": stamp()}, call))
	}
	s.happened()
}
