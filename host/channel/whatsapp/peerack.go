package whatsapp

import (
	"context"
	"regexp"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
)

// peerMessage is the beginning of a message to the account's own phone, as the
// library's log has it.
var (
	peerMessage = regexp.MustCompile(`^<message [^>]*\bcategory="peer"`)
	peerID      = regexp.MustCompile(`^<message [^>]*\bid="([0-9A-Z]+)"`)
)

// Sent implements librarylog.Observer. It bounds how long the library waits for the
// acknowledgement of a message to the account's own phone. The library asks the phone for each message
// that it cannot decrypt, which any member can cause, and waits for 75 seconds. It
// holds the lock that every send needs, and blocks the queue on which all events
// come in. Nothing depends on that acknowledgement, so after the slot's ackWait
// Sent gives the library a made-up one.
func (s *session) Sent(stanza string) {
	if !peerMessage.MatchString(stanza) {
		return
	}
	id := peerID.FindStringSubmatch(stanza)
	if id == nil {
		return
	}
	time.AfterFunc(s.w.sendSlot.ackWaitNow(), func() {
		ctx, leave, ok := s.gate.Enter(context.Background())
		if !ok {
			return
		}
		defer leave()
		ack := &waBinary.Node{Tag: "ack", Attrs: waBinary.Attrs{"class": "message", "id": id[1]}}
		if s.client.DangerousInternals().ReceiveResponse(ctx, ack) { // the library was still waiting
			t := &s.w.sendSlot
			t.missing.Add(1)
			time.AfterFunc(t.ackTime, func() { t.missing.Add(-1) })
		}
	})
}
