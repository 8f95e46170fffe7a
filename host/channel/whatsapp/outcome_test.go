package whatsapp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

func brisk(o *whatsapp.Options) { o.AckTimeout = 300 * time.Millisecond }

// once sends m until it is taken, as the outbox does, and checks that Anna
// sees it once, and the text after it too.
func (w *world) once(m channel.Message) {
	w.t.Helper()
	r := w.taken(m)
	end := w.taken(text(m.Chat, "end"))
	var ids []string
	for _, e := range w.seen(m.Chat, 2) {
		ids = append(ids, e.Info.ID)
	}
	if !slices.Equal(ids, []string{r.ID, end.ID}) {
		w.t.Errorf("Anna sees %v, want %v", ids, []string{r.ID, end.ID})
	}
}

// taken sends m until it is taken, each time when the channel is connected.
func (w *world) taken(m channel.Message) (r channel.Receipt) {
	w.t.Helper()
	w.until("the message is taken", func() bool {
		w.connected()
		var err error
		r, err = w.ch.Send(soon(w.t), m)
		if err != nil && channel.ClassOf(err) == channel.Permanent {
			w.t.Fatalf("Send: %v", err)
		}
		return err == nil
	})
	return r
}

// lost does what ends the connection, and waits until the channel has seen it:
// the library's sends race with the end of their own socket.
func (w *world) lost(do func(w *world)) {
	w.t.Helper()
	before := strings.Count(w.log.String(), "lost the connection")
	do(w)
	w.until("the channel has lost its connection", func() bool {
		return strings.Count(w.log.String(), "lost the connection") > before
	})
}

// newChat is a group of Anna and the account, for one case of a test.
func (w *world) newChat() groups.JID {
	w.chats++
	jid := chatNumber(w.chats)
	w.srv.AddGroup(whatsapptest.Group{JID: waJID(jid), Members: []string{botNumber, annaNumber}})
	return jid
}

func chatNumber(n int) groups.JID { return groups.JID(fmt.Sprintf("120363000000001%03d@g.us", n)) }

func (w *world) fault(f whatsapptest.Fault) *whatsapptest.Script {
	if f.On == whatsapptest.OnMessage || f.On == whatsapptest.OnIQ {
		f.Phone = botNumber
	}
	return w.srv.Fail(f)
}

// What goes wrong with a message: the class of the outcome, then nothing lost
// and nothing twice.
func TestWhateverHappensToAMessageItIsSeenOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, brisk).run()
	for _, tt := range []struct {
		name  string
		fault whatsapptest.Fault
		class channel.Class
		code  string
		none  bool // the library mends it by itself
	}{
		{name: "the message is swallowed", fault: whatsapptest.Fault{Do: whatsapptest.Swallow}, class: channel.Ambiguous, code: "no_answer"},
		{name: "the ack is lost", fault: whatsapptest.Fault{Do: whatsapptest.LoseAck}, none: true}, // by Anna's receipt
		{name: "the socket dies before", fault: whatsapptest.Fault{Do: whatsapptest.Cut}, none: true},
		{name: "the socket dies instead of the ack", fault: whatsapptest.Fault{Do: whatsapptest.CutAfter}, none: true},
		{name: "the server restarts", fault: whatsapptest.Fault{Do: whatsapptest.StreamError, Code: 503}, none: true},
		{name: "too fast", fault: whatsapptest.Fault{Do: whatsapptest.Refuse, Code: 429}, class: channel.Passing, code: "rate_limited"},
		{name: "their trouble", fault: whatsapptest.Fault{Do: whatsapptest.Refuse, Code: 503}, class: channel.Passing, code: "server_error"},
	} {
		if raceDetector && tt.none {
			continue // the library races with itself
		}
		t.Run(tt.name, func(t *testing.T) {
			w.t = t
			w.connected()
			uploads := len(w.srv.Uploads())
			tt.fault.On = whatsapptest.OnMessage
			hit := w.fault(tt.fault)
			m := document(w.newChat(), noise(3000))
			_, err := w.ch.Send(soon(t), m)
			var e *channel.Error
			if tt.none {
				if err != nil && channel.ClassOf(err) == channel.Permanent {
					t.Errorf("Send: %v, want it mended or open", err)
				}
			} else if !errors.As(err, &e) || e.Class != tt.class || e.Code != tt.code {
				t.Errorf("Send: %v, want %v %s", err, tt.class, tt.code)
			}
			if hit.Hits() != 1 {
				t.Errorf("the fault struck %d times", hit.Hits())
			}
			w.once(m)
			if n := len(w.srv.Uploads()) - uploads; n != 1 {
				t.Errorf("the file was uploaded %d times, want once", n)
			}
		})
	}
}

func TestWhatWhatsAppRefusesByNameIsNotRepeated(t *testing.T) {
	w := newWorld(t, brisk).run()
	for code, want := range map[int]string{463: "account_restricted", 479: "message_refused", 420: "message_refused", 403: "not_a_member"} {
		w.fault(whatsapptest.Fault{On: whatsapptest.OnMessage, Do: whatsapptest.Refuse, Code: code})
		_, err := w.ch.Send(soon(t), text(family, "hello"))
		var e *channel.Error
		if !errors.As(err, &e) || e.Class != channel.Permanent || e.Code != want || e.Hint == "" {
			t.Errorf("after %d: %v, want permanent %s", code, err, want)
		}
		if n := len(w.srv.Relayed(waJID(family))); n != 0 {
			t.Errorf("after %d: %d messages were passed on", code, n)
		}
	}
}

func TestChatsThatTakeNothingAreKnownBeforeAnUpload(t *testing.T) {
	w := newWorld(t)
	w.srv.AddPhone("4915550000009", "Clara")
	closed := groups.JID("120363000000000003@g.us")
	strangers := groups.JID("120363000000000004@g.us")
	w.srv.AddGroup(whatsapptest.Group{JID: waJID(closed), Members: []string{annaNumber, botNumber}, Announce: true})
	w.srv.AddGroup(whatsapptest.Group{JID: waJID(strangers), Members: []string{annaNumber}})
	w.run()
	for chat, code := range map[groups.JID]string{
		nobody: "not_a_member", strangers: "not_a_member", closed: "admins_only",
		"4915559999999@s.whatsapp.net": "not_on_whatsapp", "web:family": "unknown_chat", "4915550000001.3@s.whatsapp.net": "unknown_chat",
	} {
		_, err := w.ch.Send(soon(t), document(chat, noise(100)))
		var e *channel.Error
		if !errors.As(err, &e) || e.Class != channel.Permanent || e.Code != code {
			t.Errorf("to %s: %v, want permanent %s", chat, err, code)
		}
	}
	if n := len(w.srv.Uploads()); n != 0 {
		t.Errorf("%d files were uploaded for nothing", n)
	}
}

func TestAGroupThatTheAccountJoinsLaterTakesMessages(t *testing.T) {
	w := newWorld(t)
	late := groups.JID("120363000000000005@g.us")
	w.srv.AddGroup(whatsapptest.Group{JID: waJID(late), Members: []string{annaNumber}})
	w.run()
	if _, err := w.ch.Send(soon(t), text(late, "hello")); channel.ClassOf(err) != channel.Permanent {
		t.Fatalf("Send to a group of others: %v", err)
	}
	w.srv.AddMember(waJID(late), botNumber)
	w.send(text(late, "hello"))
	w.seen(late, 1)
	w.srv.RemoveMember(waJID(late), botNumber)
	w.confirmed() // it has heard that it is out: the library races if it sends meanwhile
	if _, err := w.ch.Send(soon(t), text(late, "still there?")); channel.ClassOf(err) != channel.Permanent {
		t.Errorf("Send to a group that the account has left: %v", err)
	}
}

func TestADirectMessageArrives(t *testing.T) {
	w := newWorld(t).run()
	for i, chat := range []groups.JID{groups.JID(w.anna.Phone.JID().String()), groups.JID(w.anna.Phone.LID().String())} {
		m := document(chat, noise(2000))
		r := w.send(m)
		var found bool
		w.until("Anna sees it", func() bool {
			for _, e := range w.anna.Messages() {
				found = found || e.Info.ID == r.ID && w.fetch(e.Message).SHA256 == m.Files[0].SHA256
			}
			return found
		})
		w.until("its delivery is reported", func() bool {
			w.in.mu.Lock()
			defer w.in.mu.Unlock()
			return slices.Contains(w.in.reports, string(chat)+" "+r.ID+" delivered")
		})
		if i == 0 && len(w.srv.Relayed(types.EmptyJID)) != 1 {
			t.Errorf("%d messages for one", len(w.srv.Relayed(types.EmptyJID)))
		}
	}
}

// What goes wrong with an upload.
func TestWhateverHappensToAnUploadTheFileIsSeenOnce(t *testing.T) {
	w := newWorld(t).run()
	for _, tt := range []struct {
		name  string
		fault whatsapptest.Fault
		class channel.Class
		wait  time.Duration
		none  bool // mended within the same Send
	}{
		{name: "401", fault: whatsapptest.Fault{Do: whatsapptest.Refuse, Code: 401}, none: true},
		{name: "401 for ever", fault: whatsapptest.Fault{Do: whatsapptest.Refuse, Code: 401, Times: 2}, class: channel.Passing},
		{name: "413", fault: whatsapptest.Fault{Do: whatsapptest.Refuse, Code: 413}, class: channel.Permanent},
		{name: "429", fault: whatsapptest.Fault{Do: whatsapptest.Refuse, Code: 429, RetryAfter: 33 * time.Second}, class: channel.Passing, wait: 33 * time.Second},
		{name: "500", fault: whatsapptest.Fault{Do: whatsapptest.Refuse, Code: 500}, class: channel.Passing},
		{name: "507", fault: whatsapptest.Fault{Do: whatsapptest.Refuse, Code: 507}, class: channel.Passing},
		{name: "cut in the middle", fault: whatsapptest.Fault{Do: whatsapptest.Cut, Bytes: 300_000}, none: true},
		{name: "cut at every host", fault: whatsapptest.Fault{Do: whatsapptest.Cut, Bytes: 300_000, Times: 2}, class: channel.Passing},
		{name: "the answer is lost", fault: whatsapptest.Fault{Do: whatsapptest.CutAfter}, none: true},
		{name: "slow", fault: whatsapptest.Fault{Do: whatsapptest.Slow, Rate: 5_000_000}, none: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w.t = t
			tt.fault.On = whatsapptest.OnUpload
			w.fault(tt.fault)
			m := document(w.newChat(), noise(1_000_000))
			var last atomic.Int64
			m.Attempt = channeltest.Progress(func(n int64) {
				if n < last.Swap(n) {
					t.Errorf("progress falls to %d", n)
				}
			})
			_, err := w.ch.Send(soon(t), m)
			if (err == nil) != tt.none || err != nil && (channel.ClassOf(err) != tt.class || channel.RetryAfterOf(err) != tt.wait) {
				t.Errorf("Send: %v (%v, after %v), want %v after %v", err, channel.ClassOf(err), channel.RetryAfterOf(err), tt.class, tt.wait)
			}
			if !tt.none {
				last.Store(0)
			}
			w.once(m) // also after 413: an operator may retry
			if last.Load() != m.Files[0].Size {
				t.Errorf("progress ends at %d of %d", last.Load(), m.Files[0].Size)
			}
		})
	}
}

func TestAnExpiredAuthorizationIsRenewedWithoutEncryptingAgain(t *testing.T) {
	w := newWorld(t).run()
	w.send(document(family, noise(1000)))
	w.srv.ExpireAuth()
	w.send(document(family, noise(1000)))
	ups := w.srv.Uploads()
	if len(ups) != 3 || ups[1].Status != http.StatusUnauthorized || ups[2].Status != 200 || ups[1].EncSHA256 != ups[2].EncSHA256 {
		t.Errorf("uploads: %+v", ups)
	}
}

// The socket is lost while the file is on its way, which does not end the
// upload; the message follows when the connection is back.
func TestAReconnectInTheMiddleOfAnUpload(t *testing.T) {
	w := newWorld(t).run()
	held := w.fault(whatsapptest.Fault{On: whatsapptest.OnUpload, Do: whatsapptest.Hold, Bytes: 500_000})
	m := document(family, noise(1_000_000))
	sent := make(chan error, 1)
	go func() {
		_, err := w.ch.Send(soon(t), m)
		sent <- err
	}()
	<-held.Hit()
	w.lost(func(w *world) { w.bot.Cut() })
	held.Release()
	if err := <-sent; err != nil {
		t.Errorf("Send: %v", err)
	}
	w.once(m)
	if n := len(w.srv.Uploads()); n != 1 {
		t.Errorf("%d uploads, want 1", n)
	}
}

func TestASendEndsWithItsContextWhereverItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t).run()
	for name, f := range map[string]whatsapptest.Fault{
		"in the upload":          {On: whatsapptest.OnUpload, Do: whatsapptest.Hold, Bytes: 10_000},
		"before the acknowledge": {On: whatsapptest.OnMessage, Do: whatsapptest.Swallow},
		"in a question":          {On: whatsapptest.OnIQ, Do: whatsapptest.Swallow, Kind: "w:g2"},
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			held := w.fault(f)
			defer held.Release()
			ctx, cancel := context.WithCancel(soon(t))
			defer cancel()
			sent := make(chan error, 1)
			m := document(w.newChat(), noise(1_000_000))
			go func() {
				_, err := w.ch.Send(ctx, m)
				sent <- err
			}()
			<-held.Hit()
			cancel()
			select {
			case err := <-sent:
				if err == nil || channel.ClassOf(err) == channel.Permanent {
					t.Errorf("Send: %v", err)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("Send goes on")
			}
			held.Release()
			w.once(m)
		})
	}
}

func TestBytesThatAreNotThoseAcceptedAreNotShown(t *testing.T) {
	w := newWorld(t).run()
	for name, data := range map[string][]byte{"changed": noise(1000), "shorter": noise(900), "longer": noise(1100)} {
		m := document(family, noise(1000))
		m.Files[0].Content = document(family, data).Files[0].Content
		if _, err := w.ch.Send(soon(t), m); err == nil || name != "longer" && channel.ClassOf(err) != channel.Permanent {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(w.srv.Relayed(waJID(family))); n != 0 {
		t.Errorf("%d messages were sent", n)
	}
}

func TestTheQuotaOfTheHostIsAsked(t *testing.T) {
	var taken atomic.Int64
	full := errors.New("no room")
	w := newWorld(t, func(o *whatsapp.Options) {
		o.Host = channeltest.Host{OnReserve: func(n int64) (func(), error) {
			if n > 10_000 {
				return nil, full
			}
			taken.Add(n)
			return func() { taken.Add(-n) }, nil
		}}
	}).run()
	w.send(document(family, noise(5000)))
	if n := taken.Load(); n != 0 {
		t.Errorf("%d bytes are still reserved", n)
	}
	if _, err := w.ch.Send(soon(t), document(family, noise(10_001))); !errors.Is(err, full) || channel.ClassOf(err) != channel.Passing {
		t.Errorf("without room: %v", err)
	}
}
