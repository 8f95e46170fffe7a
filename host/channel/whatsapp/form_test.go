package whatsapp_test

import (
	"testing"

	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

// secrets are the secrets of a message as it came to Anna, each time it came.
func (w *world) secrets(id string) (list []string) {
	for _, e := range w.anna.Messages() {
		if e.Info.ID == id {
			list = append(list, string(e.RawMessage.GetMessageContextInfo().GetMessageSecret()))
		}
	}
	return list
}

// WhatsApp's own apps put a secret on every message, and so does every client
// but this one did.
func TestEveryMessageHasASecretThatStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, brisk).run()
	captioned := document(family, noise(100))
	captioned.Text = "look"
	known := map[string]bool{}
	for i, m := range []channel.Message{text(family, "hello"), document(family, noise(100)), captioned, text(groups.JID(w.anna.Phone.JID().String()), "you")} {
		w.fault(whatsapptest.Fault{On: whatsapptest.OnMessage, Do: whatsapptest.LoseAck})
		silent := w.srv.Fail(whatsapptest.Fault{On: whatsapptest.OnReceipt, Do: whatsapptest.Swallow, Phone: annaNumber, Times: whatsapptest.Forever})
		if _, err := w.ch.Send(soon(t), m); channel.ClassOf(err) != channel.Ambiguous {
			t.Fatalf("message %d without an acknowledgement: %v", i, err)
		}
		if i%2 == 1 {
			w.restart()
		}
		id := w.taken(m).ID
		silent.Release()
		w.until("Anna has it twice", func() bool { return len(w.secrets(id)) == 2 })
		got := w.secrets(id)
		if len(got[0]) != 32 || got[0] != got[1] || known[got[0]] {
			t.Errorf("message %d has the secrets %x", i, got)
		}
		known[got[0]] = true
	}
}

func TestAQuoteOfOursNamesTheAccountAsTheGroupDoes(t *testing.T) {
	for _, lid := range []bool{false, true} {
		w := newWorld(t)
		chat := groups.JID("120363000000000007@g.us")
		w.srv.AddGroup(whatsapptest.Group{JID: waJID(chat), Members: []string{botNumber, annaNumber}, LID: lid})
		w.run()
		self := w.bot.JID()
		if lid {
			self = w.bot.LID()
		}
		for _, tt := range []struct {
			chat groups.JID
			want types.JID
		}{{chat, self}, {groups.JID(w.anna.Phone.JID().String()), w.bot.JID()}, {groups.JID(w.anna.Phone.LID().String()), w.bot.LID()}} {
			answer := text(tt.chat, "I meant this")
			answer.ReplyTo = w.send(text(tt.chat, "which one?")).ID
			id := w.send(answer).ID
			got := ""
			w.until("Anna has the answer", func() bool {
				for _, e := range w.anna.Messages() {
					if e.Info.ID == id {
						got = e.Message.GetExtendedTextMessage().GetContextInfo().GetParticipant()
					}
				}
				return got != ""
			})
			if got != tt.want.String() {
				t.Errorf("hidden ids %t, in %s: the quote names %s, want %s", lid, tt.chat, got, tt.want)
			}
		}
	}
}
