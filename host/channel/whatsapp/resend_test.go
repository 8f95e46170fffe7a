package whatsapp_test

import (
	"fmt"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
)

// A member's device that has lost its sessions asks for several messages at one
// time. The library encrypted what is asked for without a lock: two messages
// could get one key, and the device dropped the second as one that it had.
func TestMessagesThatADeviceAsksForAtOneTimeAllArrive(t *testing.T) {
	t.Parallel()
	w := newWorld(t).run()
	for round := range 5 {
		chat := w.newChat()
		w.send(text(chat, "before"))
		w.seen(chat, 1)
		w.anna.Disconnect()
		sent := map[string]channel.Message{}
		for i := range 20 {
			m := text(chat, fmt.Sprint("message ", i))
			sent[w.send(m).ID] = m
		}
		if err := w.anna.WipeSessions(soon(t)); err != nil {
			t.Fatal(err)
		}
		if err := w.anna.Reconnect(soon(t)); err != nil {
			t.Fatal(err)
		}
		for _, e := range w.seen(chat, 1+len(sent))[1:] {
			if got := e.Message.GetConversation(); got != sent[e.Info.ID].Text {
				t.Errorf("round %d: Anna reads %q in %s", round, got, e.Info.ID)
			}
		}
	}
}
