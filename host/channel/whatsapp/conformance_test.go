package whatsapp_test

import (
	"bytes"
	"testing"

	"go.mau.fi/whatsmeow/types/events"
	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

// The members of the suite are a real whatsmeow client on a loopback server.
func TestConformance(t *testing.T) {
	w := newWorld(t)
	channeltest.Run(t, channeltest.Harness{
		Leaks: []goleak.Option{libraryLeak},
		Chat:  family, Other: work, Unknown: nobody,
		New: func(t testing.TB) channel.Channel {
			w.again(t)
			return w.ch
		},
		Restart: func(t testing.TB) channel.Channel {
			w.t = t
			return w.open()
		},
		Received: func(t testing.TB, chat groups.JID, n int) []channeltest.Seen {
			w.t = t
			var all []channeltest.Seen
			defer w.srv.HTTPClient().CloseIdleConnections() // the suite counts goroutines
			for _, e := range w.seen(chat, n) {
				all = append(all, w.shown(e))
			}
			return all
		},
		Say: func(t testing.TB, chat groups.JID, s channeltest.Said) {
			defer w.srv.HTTPClient().CloseIdleConnections()
			var err error
			if s.File == nil {
				_, err = w.anna.SendText(soon(t), waJID(chat), s.Text)
			} else {
				_, err = w.anna.SendFile(soon(t), waJID(chat), whatsapptest.File{
					Name: s.File.Name, MIME: s.File.MIME, Caption: s.Text, Body: bytes.NewReader(s.File.Data),
				})
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		Stall: func(testing.TB) <-chan struct{} {
			return w.srv.Fail(whatsapptest.Fault{On: whatsapptest.OnMessage, Do: whatsapptest.Swallow, Phone: botNumber}).Hit()
		},
		Mark: func(t testing.TB, chat groups.JID, id string, state channel.State) {
			if state == channel.StateDelivered {
				return // Anna's client has reported that by itself
			}
			for _, e := range w.seen(chat, 1) {
				if e.Info.ID == id {
					if err := w.anna.MarkRead(soon(t), e); err != nil {
						t.Fatal(err)
					}
				}
			}
		},
	})
}

// shown is a message as Anna's app shows it, its file downloaded.
func (w *world) shown(e *events.Message) channeltest.Seen {
	w.t.Helper()
	m := e.Message
	s := channeltest.Seen{ID: e.Info.ID, Text: whatsapptest.Text(m), ReplyTo: m.GetExtendedTextMessage().GetContextInfo().GetStanzaID()}
	if d := m.GetDocumentMessage(); d != nil {
		got := w.fetch(m)
		s.File = &channeltest.SeenFile{Name: d.GetFileName(), MIME: d.GetMimetype(), Size: got.Size, SHA256: got.SHA256}
		s.ReplyTo = d.GetContextInfo().GetStanzaID()
	}
	return s
}
