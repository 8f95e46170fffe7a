package push_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/push"
	"github.com/longshore-bridge/longshore/host/channel/push/pushtest"
)

func TestSeveralFilesAreOneMessage(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	m := withFiles("three of them", "a", "bb", strings.Repeat("c", 100_000))
	m.Thread, m.ReplyTo = "t-1", "m-1"
	r, err := w.ch.Send(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	want := pushtest.Message{Type: "message", ID: m.ID, Chat: string(desk), Thread: "t-1", Text: m.Text, ReplyTo: "m-1", Given: r.ID}
	for _, f := range m.Files {
		want.Files = append(want.Files, pushtest.File{Name: f.Name, MIME: f.MIME, Kind: string(f.Kind), Size: f.Size, SHA256: f.SHA256})
	}
	if diff := cmp.Diff([]pushtest.Message{want}, w.Shown(t, string(desk), 1)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWhatTheReceiverAnswersDecides(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	for _, tt := range []struct {
		fault pushtest.Fault
		class channel.Class
		code  string
		wait  time.Duration
	}{
		{pushtest.Fault{Status: 429, Header: map[string]string{"Retry-After": "7"}}, channel.Passing, "rate_limited", 7 * time.Second},
		{pushtest.Fault{Status: 503, Header: map[string]string{"Retry-After": "soon"}}, channel.Passing, "rate_limited", 0},
		{pushtest.Fault{Status: 500}, channel.Ambiguous, "no_answer", 0},
		{pushtest.Fault{Status: 502}, channel.Ambiguous, "no_answer", 0},
		{pushtest.Fault{Status: 401}, channel.Held, "not_authorized", 0},
		{pushtest.Fault{Status: 404}, channel.Permanent, "unknown_chat", 0},
		{pushtest.Fault{Status: 410}, channel.Permanent, "unknown_chat", 0},
		{pushtest.Fault{Status: 413}, channel.Permanent, "file_too_large", 0},
		{pushtest.Fault{Status: 400}, channel.Permanent, "message_refused", 0},
		{pushtest.Fault{Status: 308, Header: map[string]string{"Location": w.Origin + "/elsewhere"}}, channel.Held, "moved", 0},
		{pushtest.Fault{Status: 302, Header: map[string]string{"Location": "http://169.254.169.254/"}}, channel.Held, "moved", 0},
	} {
		for _, m := range []channel.Message{text("hello"), withFiles("a file", strings.Repeat("x", 3<<20))} {
			w.Next(tt.fault)
			_, err := w.ch.Send(t.Context(), m)
			var e *channel.Error
			if !errors.As(err, &e) || e.Class != tt.class || e.Code != tt.code || e.RetryAfter != tt.wait {
				t.Errorf("%d to %d files: %#v", tt.fault.Status, len(m.Files), err)
			}
			if e != nil && strings.Contains(e.Message+e.Hint, w.Origin) {
				t.Errorf("%d: the agent reads the address of the receiver: %s, %s", tt.fault.Status, e.Message, e.Hint)
			}
		}
	}
	if got := w.Shown(t, string(desk), 0); len(got) != 0 {
		t.Errorf("shown was %v", got)
	}
}

// The answer is lost after the receiver has taken the message: it comes once more
// under its id, and shows once.
func TestALostAnswerShowsNothingTwice(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	for i, m := range []channel.Message{text("hello"), withFiles("a file", strings.Repeat("x", 300_000))} {
		w.Next(pushtest.Fault{Lost: true}, pushtest.Fault{Late: 504})
		for range 2 {
			if _, err := w.ch.Send(t.Context(), m); channel.ClassOf(err) != channel.Ambiguous {
				t.Errorf("without an answer: %v is %v", err, channel.ClassOf(err))
			}
		}
		r, err := w.ch.Send(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Shown(t, string(desk), i+1); len(got) != i+1 || got[i].Given != r.ID {
			t.Errorf("shown was %v, and the receipt is %s", got, r.ID)
		}
	}
}

func TestAnAnswerThatIsNoneCountsAsTaken(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	for _, answer := range []string{"ok", "{}", `{"id": 7}`, `{"id": ""}`, `{"id": "` + strings.Repeat("x", 300) + `"}`, `{"id": "a\u0007b"}`, "[" + strings.Repeat("[", 100_000)} {
		m := text("hello")
		w.Next(pushtest.Fault{Answer: answer})
		if r, err := w.ch.Send(t.Context(), m); err != nil || r.ID != m.ID {
			t.Errorf("%.20s: %+v, %v", answer, r, err)
		}
	}
}

func TestATamperedFileIsNotTaken(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	m := withFiles("a file", "as it was accepted")
	m.Files[0].Content = channel.Bytes("as it was tampered")
	if _, err := w.ch.Send(t.Context(), m); channel.ClassOf(err) != channel.Permanent {
		t.Errorf("%v is %v", err, channel.ClassOf(err))
	}
	if got := w.Shown(t, string(desk), 0); len(got) != 0 {
		t.Errorf("shown was %v", got)
	}
}

func TestASlowReceiverEndsWithTheContext(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	reached := make(chan struct{})
	w.Next(pushtest.Fault{Stall: reached})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-reached
		cancel()
	}()
	if _, err := w.ch.Send(ctx, text("hello")); channel.ClassOf(err) != channel.Ambiguous {
		t.Errorf("%v is %v", err, channel.ClassOf(err))
	}
}

// The address of replies is taken: messages go out, and the status says why none
// come in.
func TestWithoutItsAddressTheChannelStillSends(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	w := newWorld(t, func(s *push.Settings) { s.Listen = l.Addr().String() })
	w.run(t)
	if _, err := w.ch.Send(t.Context(), text("hello")); err != nil {
		t.Error(err)
	}
	for start := time.Now(); ; runtime.Gosched() { // the channel listens while it sends
		ok, detail := w.ch.(channel.Status).Connected()
		if !ok && strings.Contains(detail, "choose another one with listen") {
			return
		}
		if time.Since(start) > time.Minute {
			t.Fatalf("connected: %t, %s", ok, detail)
		}
	}
}
