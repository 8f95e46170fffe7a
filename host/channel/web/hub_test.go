package web

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/web/history"
)

// waiting is a stream that writes nothing by itself.
type waiting struct {
	*follower
	from    *event
	stopped int
}

func (w *waiting) SetWriteDeadline(time.Time) error { w.stopped++; return nil }

// writes is a connection that never waits.
type writes func([]byte) (int, error)

func (w writes) Write(p []byte) (int, error) { return w(p) }

func (h *hub) join(t *testing.T, chat string) *waiting {
	t.Helper()
	w := &waiting{follower: &follower{}}
	w.conn = w
	_, leave, ok := h.follow(chat, nil, w.follower)
	if !ok {
		t.Fatal("no place")
	}
	t.Cleanup(leave)
	w.from = w.at
	return w
}

// since are the events that have come.
func (w *waiting) since() (all []*event) {
	for e := w.from; ; e = e.next {
		select {
		case <-e.more:
			all = append(all, e.next)
		default:
			return all
		}
	}
}

// Each message of any chat woke the streams of all chats.
func TestAMessageWakesItsOwnChatsStreamsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		own, other := h.join(t, "own"), h.join(t, "other")
		for range 100 {
			h.publish("own", &history.Message{ID: "1"})
		}
		if len(own.since()) != 100 || len(other.since()) != 0 {
			t.Errorf("%d events here and %d in another chat", len(own.since()), len(other.since()))
		}
		time.Sleep(newsEvery)
		synctest.Wait()
		if got := other.since(); len(got) != 1 || string(got[0].bytes) != "event: chats\ndata: {}\n\n" {
			t.Errorf("of a hundred messages elsewhere the stream hears %d times", len(got))
		}
		if len(own.since()) != 100 {
			t.Error("a chat's stream hears of its own news")
		}
	})
}

// Each stream parsed and encoded each message for itself.
func TestAnEventIsEncodedOnceForAllStreams(t *testing.T) {
	h := newHub()
	h.publish("own", &history.Message{ID: "0"})
	one, two := h.join(t, "own"), h.join(t, "own")
	h.publish("own", &history.Message{ID: "1"})
	h.publish("own", &history.Change{N: 1, Message: &history.Message{ID: "1"}})
	a, b := one.since(), two.since()
	if len(a) != 2 || len(b) != 2 {
		t.Fatalf("%d and %d events", len(a), len(b))
	}
	for i := range a {
		if &a[i].bytes[0] != &b[i].bytes[0] {
			t.Errorf("event %d is there twice", i)
		}
	}
	before := testing.AllocsPerRun(100, func() { h.publish("nobody", &history.Message{ID: "1"}) })
	if before > 2 {
		t.Errorf("an event that no stream hears costs %v allocations", before)
	}
}

// A stream that was not read held up to 64 trees.
func TestAStreamTooFarBehindIsEnded(t *testing.T) {
	h := newHub()
	slow, quick := h.join(t, "own"), h.join(t, "own")
	large := &history.Message{ID: "1", Text: string(make([]byte, 50<<10))} // six bytes each, as JSON
	for i := range 3 {
		h.publish("own", large)
		quick.done.Store(h.rooms["own"].last.end)
		if want := min(i, 1); slow.stopped != want { // one event alone ends nobody
			t.Fatalf("after %d events it was ended %d times", i+1, slow.stopped)
		}
	}
	if !slow.ended.Load() || quick.ended.Load() || quick.stopped != 0 {
		t.Error("the wrong one was ended")
	}
}

// With the token in a header, one member took all event streams.
func TestASenderHasAShareOfTheStreams(t *testing.T) {
	h := newHub()
	for i := range maxPages {
		if _, _, ok := h.follow("own", "one", &follower{}); ok != (i < maxTabs) {
			t.Fatalf("stream %d of a sender: %v", i+1, ok)
		}
	}
	for i := range maxPages {
		if _, _, ok := h.follow("own", nil, &follower{}); ok != (i < maxPages-maxTabs) {
			t.Fatalf("stream %d of others: %v", i+1, ok)
		}
	}
}

// The hub offered a stream what that had written itself, and read the end of the chain while the
// next event was hung on it. The race detector reports it; without it, the needless wake shows it.
func TestTheHubOfferedWhatTheStreamHadWritten(t *testing.T) {
	h := newHub()
	w := h.join(t, "own")
	w.atOnce = io.Discard
	h.rooms["own"].pumping = true // the test offers the events
	h.publish("own", &history.Message{ID: "1"})
	first := w.from.next
	w.mu.Lock()
	w.wrote(first)
	w.live, w.tell = true, nil
	w.mu.Unlock()
	added := make(chan struct{})
	go func() {
		defer close(added)
		h.publish("own", &history.Message{ID: "2"})
	}()
	w.take(first)
	<-added
	if len(w.wake) > 0 {
		t.Error("it was woken for an event that it had written")
	}
	w.take(first.next)
	if w.at != first.next {
		t.Error("it did not get the next event")
	}
}

// A message is in the history before the hub passes it on. A stream that began in between
// wrote it from there, and the hub wrote it again.
func TestAMessageThatTheHistoryHadCameTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		w := h.join(t, "family")
		var wrote []string
		w.atOnce = writes(func(b []byte) (int, error) {
			wrote = append(wrote, string(b))
			return len(b), nil
		})
		w.cursor, w.change, w.live = 5, 3, true
		for _, what := range []any{&history.Message{ID: "m5", Seq: 5}, &history.Change{N: 3}, &history.Message{ID: "m6", Seq: 6}, &history.Change{N: 4}} {
			h.publish("family", what)
			synctest.Wait()
		}
		if len(wrote) != 2 || !strings.Contains(wrote[0], "m6") || !strings.HasPrefix(wrote[1], "event: change") {
			t.Errorf("the hub wrote %q", wrote)
		}
		if w.at != h.rooms["family"].last {
			t.Error("the stream is not at the chain's end")
		}
		time.Sleep(2 * newsEvery)
	})
}
