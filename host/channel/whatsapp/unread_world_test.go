package whatsapp_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

// WhatsApp does not send everything to linked devices.
func TestWhatOnlyThePhoneMaySeeIsTold(t *testing.T) {
	w := newWorld(t)
	w.ch.Unread(10 * time.Millisecond)
	w.run()
	w.srv.Withhold(waJID(family), w.anna.Phone, w.bot, "3EB0AA", "view_once")
	if in := w.received(1)[0]; in.Told != "view_once" || in.From != "Anna" || in.Chat != family || !strings.Contains(in.Text, "viewed once") {
		t.Errorf("came in %+v", in)
	}
	w.quiet()
}

func TestACallIsANote(t *testing.T) {
	w := newWorld(t)
	direct := groups.JID(w.anna.Phone.JID().String())
	w.run()
	w.srv.Ring(types.EmptyJID, w.anna.Phone, w.bot, "C1", false)
	w.srv.Ring(types.EmptyJID, w.anna.Phone, w.bot, "C1", false) // the same call
	w.srv.Ring(waJID(family), w.anna.Phone, w.bot, "C2", true)
	w.says(family, plain("that was it"))
	got := map[groups.JID][]string{}
	for _, in := range w.received(3) {
		got[in.Chat] = append(got[in.Chat], string(in.Kind)+" of "+in.Sender+": "+in.Text)
	}
	anna := w.anna.Phone.LID().String()
	want := map[groups.JID][]string{
		direct: {"note of " + anna + ": voice call: ongoing"},
		family: {"note of " + anna + ": video call: ongoing", " of " + anna + ": that was it"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.quiet()
}

// An app that said in its offer that somebody else calls left a note in that person's chat.
func TestACallIsOfWhoWhatsAppSaysThatCalls(t *testing.T) {
	w := newWorld(t)
	w.run()
	eve := w.srv.AddPhone("4915100000666", "Eve")
	w.srv.RingAs(types.EmptyJID, eve, w.anna.Phone, w.bot, "C1", false)
	if in := w.received(1)[0]; in.Chat != groups.JID(eve.JID().String()) || in.From == "Anna" {
		t.Errorf("came in: %+v", in)
	}
	w.quiet()
}

// A device that has lost its keys asks for the message again. If nobody answers, the host
// hears that there was one.
func TestAMessageThatDoesNotDecryptComesAgainOrIsTold(t *testing.T) {
	w := newWorld(t)
	w.run()
	w.says(family, plain("before"))
	w.received(1)
	w.stop()
	w.loseKeys()
	w.open()
	w.run()
	w.says(family, plain("after"))
	if got := w.received(1)[0]; got.Text != "after" || got.Told != "" {
		t.Errorf("came in %+v", got)
	}
	w.stop()
	w.loseKeys()
	w.open()
	w.ch.Unread(10 * time.Millisecond)
	w.run()
	w.srv.Fail(whatsapptest.Fault{On: whatsapptest.OnReceipt, Kind: "retry", Phone: botNumber, Do: whatsapptest.Swallow, Times: whatsapptest.Forever})
	w.says(family, plain("lost"))
	if got := w.received(1)[0]; got.Told != "undecryptable" || got.From != "Anna" {
		t.Errorf("came in %+v", got)
	}
	w.quiet()
}

// loseKeys makes the channel's device forget its sessions, as one whose store was damaged.
func (w *world) loseKeys() {
	w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.opts.Dir, "whatsapp.db")+"?_pragma=busy_timeout(10000)") // the library may still acknowledge
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	for _, table := range []string{"whatsmeow_sessions", "whatsmeow_sender_keys"} {
		if _, err := db.Exec("DELETE FROM " + table); err != nil {
			w.t.Fatal(err)
		}
	}
}
