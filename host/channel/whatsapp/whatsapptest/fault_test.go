package whatsapptest_test

import (
	"errors"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

// impatient sends a text and waits for its ack only briefly.
func impatient(t *testing.T, m *whatsapptest.Member, chat types.JID, text string) error {
	t.Helper()
	_, err := m.Client.SendMessage(soon(t), chat, &waE2E.Message{Conversation: proto.String(text)},
		whatsmeow.SendRequestExtra{ID: "3EB0" + text, Timeout: 500 * time.Millisecond})
	return err
}

func TestFaultsOnTheWayOfAMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]mishap{
		"swallowed":  {whatsapptest.Fault{Do: whatsapptest.Swallow}, whatsmeow.ErrMessageTimedOut, 0, 0},
		"ack lost":   {whatsapptest.Fault{Do: whatsapptest.LoseAck}, whatsmeow.ErrMessageTimedOut, 1, 1},
		"refused":    {whatsapptest.Fault{Do: whatsapptest.Refuse, Code: 463}, whatsmeow.ErrServerReturnedError, 0, 0},
		"twice":      {whatsapptest.Fault{Do: whatsapptest.Repeat}, nil, 1, 1},
		"cut before": {whatsapptest.Fault{Do: whatsapptest.Cut}, nil, 1, 1},      // the library hands it in again
		"cut after":  {whatsapptest.Fault{Do: whatsapptest.CutAfter}, nil, 2, 1}, // and so the server sees it twice
	} {
		t.Run(name, c.happens)
	}
}

// mishap is a fault on the way of one message, and what becomes of it.
type mishap struct {
	fault whatsapptest.Fault
	err   error // what the sender hears
	times int   // relayed
	shown int   // events at the receiver
}

func (c mishap) happens(t *testing.T) {
	srv := serve(t)
	a, b, group := chat(t, srv, false)
	must(a.SendText(soon(t), group, "first"))(t)
	next(t, b)
	c.fault.On, c.fault.Phone, c.fault.Chat = whatsapptest.OnMessage, anna, group
	script := srv.Fail(c.fault)
	if err := impatient(t, a, group, "A"); !errors.Is(err, c.err) {
		t.Errorf("sender hears %v, want %v", err, c.err)
	}
	if script.Hits() != 1 {
		t.Errorf("struck %d times", script.Hits())
	}
	times := 0
	for _, r := range srv.Relayed(group)[1:] {
		times += r.Times
	}
	if times != c.times {
		t.Errorf("relayed %d times, want %d", times, c.times)
	}
	must(a.SendText(soon(t), group, "last"))(t)
	shown := 0
	for whatsapptest.Text(next(t, b).Message) != "last" {
		shown++
	}
	if shown != c.shown {
		t.Errorf("receiver saw it %d times, want %d", shown, c.shown)
	}
}

func TestHeldMessageWaitsForItsRelease(t *testing.T) {
	srv := serve(t)
	a, b, group := chat(t, srv, false)
	script := srv.Fail(whatsapptest.Fault{On: whatsapptest.OnMessage, Do: whatsapptest.Hold, Phone: anna})
	sent := make(chan error, 1)
	go func() {
		_, err := a.SendText(soon(t), group, "held")
		sent <- err
	}()
	<-script.Hit()
	if got := srv.Relayed(group); len(got) != 0 {
		t.Errorf("relayed %v", got)
	}
	script.Release()
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	next(t, b)
}

func TestClientsReconnectByThemselves(t *testing.T) {
	t.Parallel()
	for name, hurt := range map[string]func(*whatsapptest.Phone){
		"socket killed":    (*whatsapptest.Phone).Cut,
		"stream error 503": func(p *whatsapptest.Phone) { p.StreamError(503) },
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t)
			a, b, group := chat(t, srv, false)
			since := b.Mark()
			hurt(b.Phone)
			must(whatsapptest.Await[*events.Disconnected](soon(t), b, since, nil))(t)
			must(whatsapptest.Await[*events.Connected](soon(t), b, since, nil))(t)
			must(a.SendText(soon(t), group, "again"))(t)
			next(t, b)
		})
	}
}

func TestServerThatIsDownIsTriedAgain(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	m := srv.NewMember(t, anna, "Anna")
	down := srv.Fail(whatsapptest.Fault{On: whatsapptest.OnConnect, Do: whatsapptest.Refuse, Code: 503})
	since := m.Mark()
	m.Phone.Cut()
	must(whatsapptest.Await[*events.Connected](soon(t), m, since, nil))(t)
	if down.Hits() != 1 {
		t.Errorf("refused %d times", down.Hits())
	}
}

func TestUnlinkedWhileOffline(t *testing.T) {
	srv := serve(t)
	m := srv.NewMember(t, anna, "Anna")
	m.Disconnect()
	m.Phone.Unlink()
	if err := m.Client.Connect(); err != nil {
		t.Fatal(err)
	}
	heard[*events.LoggedOut](t, m)
}

func TestOfflineQueueIsKeptInOrder(t *testing.T) {
	srv := serve(t)
	a, b, group := chat(t, srv, false)
	must(a.SendText(soon(t), group, "0"))(t)
	next(t, b)
	b.Disconnect()
	if err := srv.Await(soon(t), func() bool { return !b.Phone.Online() }); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"1", "2", "3"} {
		must(a.SendText(soon(t), group, text))(t)
	}
	since := b.Mark()
	if err := b.Reconnect(soon(t)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1", "2", "3"} {
		if got := whatsapptest.Text(next(t, b).Message); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	done := must(whatsapptest.Await[*events.OfflineSyncCompleted](soon(t), b, since, nil))(t)
	if done.Count < 3 {
		t.Errorf("%d stanzas were queued", done.Count)
	}
	if err := srv.Await(soon(t), func() bool { return b.Phone.Devices()[0].Pending == 0 }); err != nil {
		t.Error("queue is not confirmed: ", b.Phone.Devices())
	}
}

func TestUnconfirmedMessageComesAgainButIsSeenOnce(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	a, b, group := chat(t, srv, false)
	lost := srv.Fail(whatsapptest.Fault{On: whatsapptest.OnReceipt, Do: whatsapptest.Swallow, Phone: boris})
	must(a.SendText(soon(t), group, "once"))(t)
	next(t, b)
	<-lost.Hit()
	if err := b.Reconnect(soon(t)); err != nil {
		t.Fatal(err)
	}
	if err := srv.Await(soon(t), func() bool { return b.Phone.Devices()[0].Pending == 0 }); err != nil {
		t.Fatal(err)
	}
	must(a.SendText(soon(t), group, "last"))(t)
	if got := whatsapptest.Text(next(t, b).Message); got != "last" {
		t.Errorf("got %q", got)
	}
}

func TestRetryReachesAReceiverWithoutSessions(t *testing.T) {
	for name, direct := range map[string]bool{"group": false, "directly": true} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t)
			a, b, to := chat(t, srv, false)
			if direct {
				to = b.Phone.JID()
			}
			must(a.SendText(soon(t), to, "first"))(t)
			next(t, b)
			if direct {
				must(b.SendText(soon(t), a.Phone.JID(), "so that the session is no longer fresh"))(t)
				next(t, a)
			}
			if err := b.WipeSessions(soon(t)); err != nil {
				t.Fatal(err)
			}
			id := must(a.SendText(soon(t), to, "second"))(t)
			if got := next(t, b); whatsapptest.Text(got.Message) != "second" || got.Info.ID != id {
				t.Errorf("got %q", whatsapptest.Text(got.Message))
			}
			list := srv.Relayed(types.EmptyJID)
			if last := list[len(list)-1]; last.ID != id || last.Times != 1 || last.Retries == 0 {
				t.Errorf("relayed %+v", last)
			}
		})
	}
}

func TestRefusedQueries(t *testing.T) {
	srv := serve(t)
	a, _, group := chat(t, srv, false)
	srv.Fail(whatsapptest.Fault{On: whatsapptest.OnIQ, Do: whatsapptest.Refuse, Kind: "w:g2", Phone: anna, Code: 429})
	if _, err := a.Client.GetGroupInfo(soon(t), group); !errors.Is(err, whatsmeow.ErrIQRateOverLimit) {
		t.Errorf("query: %v", err)
	}
	must(a.Client.GetGroupInfo(soon(t), group))(t)
}
