package whatsapp_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

// The members of the suite are a real whatsmeow client on a loopback server.
func TestConformance(t *testing.T) {
	w := newWorld(t)
	w.srv.AddPhone(robotNumber, "Robo")
	w.srv.AddMember(waJID(family), robotNumber)
	channeltest.Run(t, channeltest.Harness{
		Leaks: []goleak.Option{libraryLeak},
		Chat:  family, Other: work, Unknown: nobody,
		New: func(t testing.TB) channel.Channel {
			w.again(t)
			w.ch.Hurry(300*time.Millisecond, 30*time.Second)
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
		Now: func(t testing.TB, chat groups.JID, id string) channeltest.Seen {
			w.t = t
			defer w.srv.HTTPClient().CloseIdleConnections()
			return w.now(chat, id)
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
			w.t = t
			w.confirmed()
		},
		Acts: []channel.Kind{channel.KindEdit, channel.KindDeletion, channel.KindReaction, channel.KindLocation, channel.KindMembership},
		Act: func(t testing.TB, chat groups.JID, in channel.Inbound) {
			w.t = t
			w.acts(chat, in)
			w.confirmed()
		},
		Share: func(t testing.TB, chat groups.JID, s channeltest.Shared) {
			defer w.srv.HTTPClient().CloseIdleConnections()
			w.t = t
			w.shares(chat, s)
			w.confirmed()
		},
		Lacks: lacks(),
		Stranger: func(t testing.TB, chat groups.JID, id, choice string) {
			w.t = t
			for _, e := range w.seen(chat, 1) {
				if e.Info.ID == id { // the question's secret has got out
					w.says(work, w.vote(e.Info, choice))
					w.says(groups.JID(botNumber+"@s.whatsapp.net"), w.vote(e.Info, choice))
				}
			}
			w.says(groups.JID(botNumber+"@s.whatsapp.net"), w.anna.Client.BuildReaction(waJID(chat), w.bot.JID(), id, "👍"))
			w.confirmed()
		},
		Expire: func(testing.TB) { w.srv.LoseMedia() },
		Stall: func(testing.TB) <-chan struct{} {
			return w.srv.Fail(whatsapptest.Fault{On: whatsapptest.OnMessage, Do: whatsapptest.Swallow, Phone: botNumber}).Hit()
		},
		Refuse: func(_ testing.TB, form channel.Form, _ channel.Message) bool {
			code, refuses := map[channel.Form]int{"": 420, channel.FormKind: 479}[form]
			if refuses {
				w.fault(whatsapptest.Fault{On: whatsapptest.OnMessage, Do: whatsapptest.Refuse, Code: code, Phone: botNumber})
			}
			return refuses
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

// confirmed waits until the channel has confirmed all that it was sent, and has
// had an answer after that: the library races if it disconnects while it sends.
func (w *world) confirmed() {
	w.t.Helper()
	err := w.srv.Await(soon(w.t), w.bot.Settled)
	if err == nil {
		_, err = w.ch.Chats(soon(w.t))
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// quiet waits until nothing is under way between Anna and the channel.
func (w *world) quiet() {
	w.t.Helper()
	if err := w.anna.CaughtUp(soon(w.t)); err != nil {
		w.t.Fatal(err)
	}
	w.confirmed()
}

// acts lets Anna do what is no message. Bo joins and leaves.
func (w *world) acts(chat groups.JID, in channel.Inbound) {
	to := waJID(chat)
	switch in.Kind {
	case channel.KindEdit:
		w.says(chat, w.anna.Client.BuildEdit(to, in.Target, plain(in.Text)))
	case channel.KindDeletion:
		w.says(chat, w.anna.Client.BuildRevoke(to, types.EmptyJID, in.Target))
	case channel.KindReaction:
		w.says(chat, w.anna.Client.BuildReaction(to, types.EmptyJID, in.Target, in.Emoji))
	case channel.KindLocation:
		w.says(chat, &waE2E.Message{LocationMessage: &waE2E.LocationMessage{
			DegreesLatitude: &in.Location.Latitude, DegreesLongitude: &in.Location.Longitude, Name: &in.Location.Name,
		}})
	case channel.KindMembership:
		const bo = "4915550000009"
		if w.srv.Phone(bo) == nil {
			w.srv.AddPhone(bo, "Bo")
		}
		if len(in.Joined) > 0 {
			w.srv.AddMember(to, bo)
		} else {
			w.srv.RemoveMember(to, bo)
		}
	}
}

func TestAChannelThatIsNotRunMakesNoFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	if _, err := whatsapp.New(whatsapp.Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its directory: %v", err)
	}
}

// Who is an admin is known from the group's own list, which the channel has asked
// for anyway.
func TestARoleComesFromTheGroup(t *testing.T) {
	w := newWorld(t)
	chat := groups.JID("120363000000000007@g.us")
	w.srv.AddGroup(whatsapptest.Group{JID: waJID(chat), Members: []string{botNumber, annaNumber}, Admins: []string{annaNumber}})
	w.run()
	for _, c := range []groups.JID{chat, family} {
		w.send(text(c, "hello"))
		w.says(c, plain("hello"))
	}
	got := w.received(2)
	for _, m := range got {
		if want := map[groups.JID]channel.Role{chat: channel.RoleAdmin, family: channel.RoleMember}[m.Chat]; m.Role != want {
			t.Errorf("in %s Anna is %q, want %q", m.Chat, m.Role, want)
		}
	}
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

// now is how Anna's app shows a message at this moment. Like the app, it knows a change
// by its id too.
func (w *world) now(chat groups.JID, id string) (s channeltest.Seen) {
	w.t.Helper()
	w.quiet()
	known := map[string]bool{}
	for _, e := range w.anna.Everything() {
		keys := e.Message.GetSenderKeyDistributionMessage() != nil // they come before the message, under its id
		if e.Info.Chat != waJID(chat) || e.Info.IsFromMe || keys || known[e.Info.ID] {
			continue
		}
		known[e.Info.ID] = true
		changed, reaction := e.Message.GetProtocolMessage(), e.Message.GetReactionMessage()
		switch {
		case e.Info.ID == id:
			s = w.shown(e)
		case reaction.GetKey().GetID() == id:
			s.Reaction = reaction.GetText()
		case changed.GetKey().GetID() != id:
		case changed.GetType() == waE2E.ProtocolMessage_REVOKE:
			s = channeltest.Seen{ID: id, Gone: true}
		case changed.GetType() == waE2E.ProtocolMessage_MESSAGE_EDIT:
			s.Text, s.Edits = whatsapptest.Text(changed.GetEditedMessage()), s.Edits+1
		}
	}
	return s
}
