package whatsapp_test

import (
	"slices"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

// hurried opens the channel again with a shorter wait, for tests that do not
// measure it.
func (w *world) hurried() *world {
	w.ch.Hurry(100*time.Millisecond, 2*time.Second)
	return w.run()
}

type outcome struct {
	r   channel.Receipt
	err error
}

// sending sends m in the background.
func (w *world) sending(m channel.Message) <-chan outcome {
	c := make(chan outcome, 1)
	ctx := soon(w.t)
	go func() {
		r, err := w.ch.Send(ctx, m)
		c <- outcome{r, err}
	}()
	return c
}

// times is how often a message was handed in, retries apart.
func (w *world) times(chat groups.JID, id string) (n int) {
	for _, r := range w.srv.Relayed(waJID(chat)) {
		if r.ID == id {
			n += r.Times
		}
	}
	return n
}

// One lost acknowledgement kept the library's lock, and every other chat waited
// for 25 seconds; five of them for two minutes. Here the lock is kept for a tenth of a
// second each time.
func TestALostAcknowledgementDelaysOtherChatsByOneTimeout(t *testing.T) {
	t.Parallel()
	for _, lost := range []int{1, 5} {
		w := newWorld(t)
		w.ch.Hurry(100*time.Millisecond, 30*time.Second)
		w.run()
		last := w.newChat()
		w.send(text(last, "so that all is known")) // before the fault
		var waiting []<-chan outcome
		since := time.Now()
		for range lost {
			chat := w.newChat()
			hit := w.fault(whatsapptest.Fault{On: whatsapptest.OnMessage, Do: whatsapptest.Swallow, Chat: waJID(chat)})
			waiting = append(waiting, w.sending(text(chat, "lost")))
			<-hit.Hit()
		}
		w.send(text(last, "and on it goes"))
		if delay := time.Since(since); delay > 20*time.Second { // on the busiest machine; an acknowledgement is waited for as long and longer
			t.Errorf("with %d acknowledgements lost at once, a text of another chat took %v", lost, delay)
		}
		for i, c := range waiting {
			select {
			case got := <-c:
				t.Errorf("message %d of %d has ended first: %+v", i, lost, got)
			default:
			}
		}
		w.stop()
	}
}

func TestALateAcknowledgementIsHeard(t *testing.T) {
	t.Parallel()
	w := newWorld(t).hurried()
	late := w.fault(whatsapptest.Fault{On: whatsapptest.OnMessage, Do: whatsapptest.Hold})
	silent := w.srv.Fail(whatsapptest.Fault{On: whatsapptest.OnReceipt, Do: whatsapptest.Swallow, Phone: annaNumber, Times: whatsapptest.Forever})
	defer silent.Release()
	c := w.sending(text(family, "hello"))
	<-late.Hit()
	w.until("the lock is free", func() bool { return w.ch.Missing() == 1 })
	late.Release()
	got := <-c
	if got.err != nil || w.times(family, got.r.ID) != 1 || got.r.Time.IsZero() {
		t.Errorf("Send: %+v; it went out %d times", got, w.times(family, got.r.ID))
	}
	if w.ch.Missing() != 0 {
		t.Error("it is still waited for")
	}
}

func TestALateRefusalIsHeard(t *testing.T) {
	t.Parallel()
	w := newWorld(t).hurried()
	first := w.fault(whatsapptest.Fault{On: whatsapptest.OnMessage, Do: whatsapptest.Hold, Chat: waJID(family)})
	c := w.sending(text(family, "hello"))
	<-first.Hit()
	w.until("the lock is free", func() bool { return w.ch.Missing() == 1 })
	w.srv.RemoveMember(waJID(family), botNumber)
	first.Release()
	if got := <-c; channel.ClassOf(got.err) != channel.Permanent {
		t.Errorf("Send: %+v, want a permanent refusal", got)
	}
}

func TestAReceiptCountsAsAnAcknowledgement(t *testing.T) {
	t.Parallel()
	w := newWorld(t).hurried()
	for i, m := range []channel.Message{document(family, noise(1000)), text(groups.JID(w.anna.Phone.JID().String()), "you")} {
		w.fault(whatsapptest.Fault{On: whatsapptest.OnMessage, Do: whatsapptest.LoseAck})
		r := w.send(m)
		if n := w.times(m.Chat, r.ID); n != 1 {
			t.Errorf("message %d went out %d times, want once", i, n)
		}
		again := w.send(m)
		if n := w.times(m.Chat, r.ID); n != 1 || again.ID != r.ID {
			t.Errorf("message %d went out %d times after it was received", i, n)
		}
	}
}

// The receipt comes after Send has ended: the repeat needs not go out any more.
func TestAReceiptAfterTheEndOfASendIsAnAcknowledgementToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, brisk).run()
	held := w.srv.Fail(whatsapptest.Fault{On: whatsapptest.OnReceipt, Do: whatsapptest.Hold, Phone: annaNumber})
	w.fault(whatsapptest.Fault{On: whatsapptest.OnMessage, Do: whatsapptest.LoseAck})
	m := text(family, "hello")
	if _, err := w.ch.Send(soon(t), m); channel.ClassOf(err) != channel.Ambiguous {
		t.Fatalf("Send without a word: %v", err)
	}
	held.Release()
	w.until("the delivery is reported", func() bool {
		w.in.mu.Lock()
		defer w.in.mu.Unlock()
		return len(w.in.reports) > 0
	})
	r := w.send(m)
	if n := w.times(family, r.ID); n != 1 {
		t.Errorf("it went out %d times, want once", n)
	}
}

// A member cannot end somebody else's wait: only receipts of the chat count.
func TestAStrangersReceiptIsNoAcknowledgement(t *testing.T) {
	t.Parallel()
	w := newWorld(t, brisk)
	eve := w.withEve()
	w.run()
	w.fault(whatsapptest.Fault{On: whatsapptest.OnMessage, Do: whatsapptest.Swallow, Chat: waJID(family)})
	m := text(family, "hello")
	if _, err := w.ch.Send(soon(t), m); channel.ClassOf(err) != channel.Ambiguous {
		t.Fatalf("Send without a word: %v", err)
	}
	id := whatsapp.MessageID(m.ID)
	eve.receipt("read", waJID(others), false, id)
	eve.receipt("read", waJID(family), false, id)
	end := w.send(text(others, "end"))
	eve.receipt("read", waJID(others), false, end.ID)
	w.until("the end is reported", func() bool {
		w.in.mu.Lock()
		defer w.in.mu.Unlock()
		return slices.Contains(w.in.reports, string(others)+" "+end.ID+" read") // other devices may report after it
	})
	w.send(m)
	if n := w.times(family, id); n != 1 {
		t.Errorf("the message went out %d times, want once", n)
	}
}

// The library asks for the keys of new devices under its lock, for 75 seconds.
func TestAnUnansweredQuestionAboutKeysDelaysOtherChatsByOneTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withBo("Bo", false)
	w.hurried()
	w.send(text(family, "so that all is known"))
	asked := w.fault(whatsapptest.Fault{On: whatsapptest.OnIQ, Kind: "encrypt", Do: whatsapptest.Swallow})
	m := text(trio, "for Bo too")
	c := w.sending(m)
	<-asked.Hit()
	w.send(text(family, "and on it goes"))
	if got := <-c; channel.ClassOf(got.err) != channel.Passing {
		t.Errorf("Send without keys: %+v, want it to pass", got)
	}
	w.once(m)
}
