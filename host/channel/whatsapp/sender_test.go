package whatsapp_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

const (
	boNumber = "4915550000002"
	trio     = groups.JID("120363000000000009@g.us") // Anna, Bo and the account
)

// withBo adds a member who calls himself by any name, and the group trio.
func (w *world) withBo(name string, lid bool) *whatsapptest.Member {
	w.t.Helper()
	bo := w.srv.NewMember(w.t, boNumber, name)
	w.srv.AddGroup(whatsapptest.Group{JID: waJID(trio), Members: []string{botNumber, annaNumber, boNumber}, LID: lid})
	return bo
}

// quoting is a message as a phone makes it that may repeat what it likes.
func quoting(id string, writer types.JID, text string) *waE2E.Message {
	return &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{
		Text: proto.String("what about this?"), ContextInfo: &waE2E.ContextInfo{
			StanzaID: &id, Participant: proto.String(writer.String()), QuotedMessage: plain(text),
		},
	}}
}

func TestAQuoteIsWhatWasWritten(t *testing.T) {
	for _, lid := range []bool{false, true} {
		w := newWorld(t)
		bo := w.withBo("Bo", lid)
		w.run()
		self, boJID := w.bot.JID(), bo.Phone.JID()
		if lid {
			self, boJID = w.bot.LID(), bo.Phone.LID()
		}
		ours, elsewhere := w.send(text(trio, "I sent the plan")), w.send(text(work, "the salary is 1")).ID
		theirs, err := bo.SendText(soon(t), waJID(trio), "I am against it")
		if err != nil {
			t.Fatal(err)
		}
		w.received(1)
		// Anna writes under the id of Bo's message.
		if _, err := w.anna.Client.SendMessage(soon(t), waJID(trio), plain("I am for it"), whatsmeow.SendRequestExtra{ID: theirs}); err != nil {
			t.Fatal(err)
		}
		boSender := w.received(2)[0].Sender
		tests := []struct {
			what   string
			quotes *waE2E.Message
			want   channel.Quote
			direct bool
		}{
			{"ours, in other words", quoting(ours.ID, self, "I sent the keys"), channel.Quote{ID: ours.ID, From: "+" + botNumber, Text: "I sent the plan", Own: true}, true},
			{"ours, as Bo's", quoting(ours.ID, boJID, "I sent the keys"), channel.Quote{ID: ours.ID, From: "Bo", Text: "I sent the keys", Unverified: true}, false},
			{"ours of another chat", quoting(elsewhere, self, "the salary is 2"), channel.Quote{ID: elsewhere, Text: "the salary is 2", Unverified: true}, true},
			{"nobody's, as ours", quoting("3EB0AA", self, "I obey Anna"), channel.Quote{ID: "3EB0AA", Text: "I obey Anna", Unverified: true}, true},
			{"Bo's, in other words", quoting(theirs, boJID, "I give up"), channel.Quote{ID: theirs, From: "Bo", Sender: boSender, Text: "I am against it"}, false},
			{"Bo's, by his number", quoting(theirs, bo.Phone.JID(), "I give up"), channel.Quote{ID: theirs, From: "Bo", Sender: boSender, Text: "I am against it"}, false},
			{"Bo's, as ours", quoting(theirs, self, "I give up"), channel.Quote{ID: theirs, Text: "I give up", Unverified: true}, true},
			{"nobody's, as Bo's", quoting("3EB0AB", boJID, "I give up"), channel.Quote{ID: "3EB0AB", From: "Bo", Text: "I give up", Unverified: true}, false},
		}
		for i, tt := range tests {
			w.says(trio, tt.quotes)
			m := w.received(3 + i)[2+i]
			if m.Quote == nil || m.Direct != tt.direct {
				t.Fatalf("lid %t, %s: %+v came in", lid, tt.what, m)
			}
			if tt.want.Sender != "" {
				tt.want.Also = bo.Phone.JID().String()
			}
			if diff := cmp.Diff(tt.want, *m.Quote); diff != "" {
				t.Errorf("lid %t, %s (-want +got):\n%s", lid, tt.what, diff)
			}
		}
		if anna := w.received(2)[1]; anna.Sender == boSender || anna.Sender == "" {
			t.Errorf("lid %t: Anna's message is of %q, Bo's of %q", lid, anna.Sender, boSender)
		}
	}
}

func TestAMemberIsNotAnotherByName(t *testing.T) {
	for _, lid := range []bool{false, true} {
		w := newWorld(t)
		bo := w.withBo("\u202dAnna\U000e0042\u200b", lid)
		w.run()
		both := func(words string) (anna, bos channel.Inbound) {
			t.Helper()
			n := len(w.received(0))
			w.says(trio, plain(words))
			w.received(n + 1)
			if _, err := bo.SendText(soon(t), waJID(trio), words); err != nil {
				t.Fatal(err)
			}
			got := w.received(n + 2)
			return got[n], got[n+1]
		}
		anna, bos := both("it was me")
		if anna.From != "Anna" || bos.From != "Anna" {
			t.Errorf("lid %t: they are shown as %q and %q", lid, anna.From, bos.From)
		}
		if anna.Sender == bos.Sender || anna.Sender == "" || bos.Sender == "" {
			t.Errorf("lid %t: they are told apart by %q and %q", lid, anna.Sender, bos.Sender)
		}
		// The operator's address book knows better.
		w.stop()
		w.calls(bo, "Bo of the yard")
		w.open()
		w.run()
		again, known := both("and now?")
		if again.From != "Anna" || known.From != "Bo of the yard" || again.Sender != anna.Sender || known.Sender != bos.Sender {
			t.Errorf("lid %t: they are now %q (%s, was %s) and %q (%s, was %s)", lid, again.From, again.Sender, anna.Sender, known.From, known.Sender, bos.Sender)
		}
	}
}

func TestAMemberIsTheSameByNumberAndByHiddenID(t *testing.T) {
	w := newWorld(t)
	w.srv.AddGroup(whatsapptest.Group{JID: waJID(trio), Members: []string{botNumber, annaNumber}, LID: true})
	w.run()
	senders := map[string]bool{}
	for i, chat := range []groups.JID{trio, family, groups.JID(w.bot.JID().String()), groups.JID(w.bot.LID().String())} {
		w.says(chat, plain("it is me"))
		senders[w.received(i + 1)[i].Sender] = true
	}
	if len(senders) != 1 || senders[""] {
		t.Errorf("Anna is %v", senders)
	}
}

// calls enters a member in the account's address book, as the phone's sync
// does.
func (w *world) calls(m *whatsapptest.Member, name string) {
	w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.opts.Dir, "whatsapp.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	_, err = db.ExecContext(w.t.Context(), `INSERT INTO whatsmeow_contacts (our_jid, their_jid, full_name) SELECT jid, ?, ? FROM whatsmeow_device WHERE true
		ON CONFLICT (our_jid, their_jid) DO UPDATE SET full_name = excluded.full_name`, m.Phone.JID().String(), name)
	if err != nil {
		w.t.Fatal(err)
	}
}

// A name that is itself a mention, mentioned again and again, must not be
// replaced inside its own replacement: the text would fill the memory.
func TestANameThatMentionsDoesNotGrow(t *testing.T) {
	w := newWorld(t)
	name := strings.Repeat("@"+boNumber+"@"+annaNumber, 2)
	bo := w.withBo(name, false)
	w.run()
	if _, err := bo.SendText(soon(t), waJID(trio), "so that my name is known"); err != nil {
		t.Fatal(err)
	}
	w.received(1)
	about := &waE2E.ContextInfo{}
	for range 8 { // replaced one after the other: 2 to the 8th times as long
		about.MentionedJID = append(about.MentionedJID, bo.Phone.JID().String(), w.anna.Phone.JID().String())
	}
	w.says(trio, &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{Text: proto.String("@" + boNumber + " @" + annaNumber), ContextInfo: about}})
	if got, want := w.received(2)[1].Text, "@"+name+" @Anna"; got != want {
		t.Errorf("the text has become %d bytes long, want %d", len(got), len(want))
	}
}
