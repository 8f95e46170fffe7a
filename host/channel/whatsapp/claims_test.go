package whatsapp_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

const (
	eveNumber = "4915550000003"
	others    = groups.JID("120363000000000010@g.us") // Eve and the account
)

// claims are a member's device and the ways on which it speaks of a message.
type claims struct {
	w      *world
	who    *whatsapptest.Member
	serial int
}

// withEve adds a member of a group of her own.
func (w *world) withEve() *claims {
	w.t.Helper()
	eve := w.srv.NewMember(w.t, eveNumber, "Eve")
	w.srv.AddGroup(whatsapptest.Group{JID: waJID(others), Members: []string{botNumber, eveNumber}})
	return &claims{w: w, who: eve}
}

// device is the account's device as a chat addresses it.
func (w *world) device(lid bool) types.JID {
	jid := w.bot.JID()
	if lid {
		jid = w.bot.LID()
	}
	for _, d := range w.bot.Devices() {
		jid.Device = d.JID.Device
	}
	return jid
}

// receipt sends a receipt of any type about any message through any chat, as a
// modified app can, and waits until the server has passed it on.
func (c *claims) receipt(kind string, chat types.JID, lid bool, id string) {
	c.w.t.Helper()
	n := waBinary.Node{Tag: "receipt", Attrs: waBinary.Attrs{"id": id, "to": chat}}
	if chat.Server == types.GroupServer {
		n.Attrs["participant"] = c.w.device(lid)
	}
	if kind != "" {
		n.Attrs["type"] = kind
	}
	if kind == "retry" {
		n.Content = []waBinary.Node{
			{Tag: "retry", Attrs: waBinary.Attrs{"count": "1", "id": id, "t": time.Now().Unix(), "v": "1"}},
			{Tag: "registration", Content: []byte{0, 0, 0, 1}},
		}
	}
	internals := c.who.Client.DangerousInternals()
	answer := internals.WaitResponse(id)
	if err := internals.SendNode(soon(c.w.t), n); err != nil {
		c.w.t.Fatal(err)
	}
	select {
	case <-answer:
	case <-soon(c.w.t).Done():
		c.w.t.Fatal("the server does not acknowledge a receipt")
	}
}

// refused is how many requests for a message were refused.
func (w *world) refused() int { return strings.Count(w.log.String(), "not for it") }

// retries is how often a message was sent again for one device.
func (w *world) retries(id string) (n int) {
	for _, r := range w.srv.Relayed(types.EmptyJID) {
		if r.ID == id {
			n += r.Retries
		}
	}
	return n
}

// answered waits until a request for a message was decided, and says whether
// it was sent again.
func (w *world) answered(id string, ask func()) bool {
	w.t.Helper()
	retries, refused := w.retries(id), w.refused()
	ask()
	w.until("the request is decided", func() bool { return w.retries(id) > retries || w.refused() > refused })
	return w.retries(id) > retries
}

// former lets Bo leave the trio, and waits until the channel has seen it.
func (w *world) former() {
	w.t.Helper()
	w.srv.RemoveMember(waJID(trio), boNumber)
	w.send(text(others, "so that all before it was handled"))
}

// The callback got who asks and through which chat, and looked at neither: a
// stranger who knew a message's id got the message with the keys of its file.
func TestAMessageGoesAgainToPresentMembersOfItsChatAlone(t *testing.T) {
	t.Parallel()
	for _, lid := range []bool{false, true} {
		w := newWorld(t)
		bo, eve := &claims{w: w, who: w.withBo("Bo", lid)}, w.withEve()
		w.run()
		anna := &claims{w: w, who: w.anna}
		inTrio := w.send(document(trio, noise(2000))).ID
		toAnna := w.send(text(groups.JID(w.anna.Phone.JID().String()), "for Anna alone")).ID
		w.former()
		for _, when := range []string{"young", "after a restart"} {
			for _, tt := range []struct {
				what string
				who  *claims
				id   string
				chat types.JID
				lid  bool
				want bool
			}{
				{"a stranger, in her own chat", eve, inTrio, w.device(false), false, false},
				{"a stranger, in her own chat by hidden id", eve, inTrio, w.device(true), true, false},
				{"a member of another group, there", eve, inTrio, waJID(others), false, false},
				{"a member of another group, in the message's", eve, inTrio, waJID(trio), lid, false},
				{"a stranger, of a direct message", eve, toAnna, w.device(false), false, false},
				{"a member of another group, of a direct message", eve, toAnna, waJID(others), false, false},
				{"a former member", bo, inTrio, waJID(trio), lid, false},
				{"a former member, in his own chat", bo, inTrio, w.device(false), false, false},
				{"a member, in another group", anna, inTrio, waJID(work), false, false},
				{"a member, in her own chat", anna, inTrio, w.device(false), false, false},
				{"the peer, in a group", anna, toAnna, waJID(family), false, false},
				{"a member", anna, inTrio, waJID(trio), lid, true},
				{"the peer", anna, toAnna, w.device(false), false, true},
				{"the peer by hidden id", anna, toAnna, w.device(true), true, true},
			} {
				if got := w.answered(tt.id, func() { tt.who.receipt("retry", tt.chat, tt.lid, tt.id) }); got != tt.want {
					t.Errorf("hidden ids %t, %s, %s: the message is sent again: %t", lid, when, tt.what, got)
				}
			}
			if when == "young" {
				w.restart()
			}
		}
	}
}

func TestAReceiptIsBelievedFromPresentMembersOfItsChatAlone(t *testing.T) {
	t.Parallel()
	for _, lid := range []bool{false, true} {
		w := newWorld(t)
		bo, eve := &claims{w: w, who: w.withBo("Bo", lid)}, w.withEve()
		w.run()
		anna := &claims{w: w, who: w.anna}
		inTrio := w.send(text(trio, "hello")).ID
		toAnna := w.send(text(groups.JID(w.anna.Phone.LID().String()), "for Anna alone")).ID
		w.seen(trio, 1)
		w.former()
		for _, id := range []string{inTrio, toAnna} {
			for _, chat := range []types.JID{w.device(false), w.device(true), waJID(others), waJID(trio)} {
				eve.receipt("read", chat, lid, id)
				bo.receipt("read", chat, lid, id)
			}
			anna.receipt("read", waJID(work), false, id)
		}
		anna.receipt("read", w.device(false), false, inTrio)
		anna.receipt("read", waJID(trio), lid, toAnna)
		end := w.send(text(others, "the end"))
		eve.receipt("read", waJID(others), false, end.ID)
		reported := func(chat groups.JID, id string) bool {
			w.in.mu.Lock()
			defer w.in.mu.Unlock()
			return slices.Contains(w.in.reports, string(chat)+" "+id+" read")
		}
		w.until("the end is read", func() bool { return reported(others, end.ID) })
		direct := groups.JID(w.anna.Phone.LID().String())
		if reported(trio, inTrio) || reported(direct, toAnna) {
			t.Errorf("hidden ids %t: who was not there has read: %v", lid, w.in.reports)
		}
		anna.receipt("read", waJID(trio), lid, inTrio)
		anna.receipt("read", w.device(false), false, toAnna)
		w.until("Anna has read", func() bool { return reported(trio, inTrio) && reported(direct, toAnna) })
	}
}

// Requests of a member are no way to make the host ask without end, nor to wait.
func TestClaimsAboutAGroupThatIsNotKnownAskOnce(t *testing.T) {
	w := newWorld(t)
	w.run()
	anna := &claims{w: w, who: w.anna}
	r := w.send(text(family, "hello"))
	w.seen(family, 1)
	w.stop()
	asked := w.fault(whatsapptest.Fault{On: whatsapptest.OnIQ, Kind: "w:g2", Do: whatsapptest.Refuse, Code: 500, Times: whatsapptest.Forever})
	w.open()
	w.run()
	for range 8 { // the library passes nine of a device on
		if w.answered(r.ID, func() { anna.receipt("retry", waJID(family), false, r.ID) }) {
			t.Fatal("the message was sent again, with nothing known of the group")
		}
	}
	if n := asked.Hits(); n != 1 {
		t.Errorf("WhatsApp was asked %d times, want once", n)
	}
}
