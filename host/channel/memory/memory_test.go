package memory_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	chat = groups.JID("mem:family")
	id   = "0123456789abcdef0123456789abcdef"
)

func TestMemoryFailsAsTold(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault memory.Fault
		class channel.Class
		after time.Duration
		shown int
	}{
		{"passing", memory.Passing(), channel.Passing, 0, 0},
		{"rate limited", memory.RetryAfter(time.Minute), channel.Passing, time.Minute, 0},
		{"permanent", memory.Permanent(), channel.Permanent, 0, 0},
		{"held", memory.Held(), channel.Held, 0, 0},
		{"ambiguous, not shown", memory.AmbiguousBefore(), channel.Ambiguous, 0, 0},
		{"ambiguous, shown", memory.AmbiguousAfter(), channel.Ambiguous, 0, 1},
		{"breaks in the file", memory.Fault{Break: 10}, channel.Passing, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := memory.New(memory.Options{Online: true})
			m.Next(tt.fault)
			msg := memory.File(id, chat, "a.pdf", make([]byte, 100))
			_, err := m.Send(t.Context(), msg)
			if err == nil || channel.ClassOf(err) != tt.class || channel.RetryAfterOf(err) != tt.after {
				t.Errorf("Send: %v, want class %v", err, tt.class)
			}
			if got := len(m.Shown(chat)); got != tt.shown {
				t.Errorf("%d messages shown, want %d", got, tt.shown)
			}
			if _, err := m.Send(t.Context(), msg); err != nil || len(m.Shown(chat)) != 1 {
				t.Errorf("the retry: %v, %d shown", err, len(m.Shown(chat)))
			}
			calls := m.Attempts()
			if len(calls) != 2 || calls[1].Number != 2 || calls[0].Err == nil || calls[1].Err != nil || !calls[1].Done {
				t.Errorf("attempts %+v", calls)
			}
		})
	}
}

func TestAScriptSeesMessageAndAttempt(t *testing.T) {
	m := memory.New(memory.Options{Online: true, Script: func(_ channel.Message, attempt int) memory.Fault {
		if attempt < 3 {
			return memory.Passing()
		}
		return memory.Fault{}
	}})
	var failed int
	for range 4 {
		if _, err := m.Send(t.Context(), memory.Text(id, chat, "hi")); err != nil {
			failed++
		}
	}
	if failed != 2 || len(m.Shown(chat)) != 1 {
		t.Errorf("%d failed and %d shown, want 2 and 1", failed, len(m.Shown(chat)))
	}
}

func TestSlowAndHangingSends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New(memory.Options{Online: true})
		start := time.Now()
		gate := make(chan struct{})
		time.AfterFunc(time.Hour, func() { close(gate) })
		m.Next(memory.Slow(time.Minute), memory.Until(gate), memory.Hanging(), memory.Fault{Hang: true, Shown: true})
		for _, want := range []time.Duration{time.Minute, time.Hour} {
			if _, err := m.Send(t.Context(), memory.Text(want.String(), chat, "slow")); err != nil || time.Since(start) != want {
				t.Errorf("Send took %v: %v", time.Since(start), err)
			}
		}
		for i, want := range []channel.Class{channel.Passing, channel.Ambiguous} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := m.Send(ctx, memory.Text(want.String(), chat, "hangs"))
			if !errors.Is(err, context.DeadlineExceeded) || channel.ClassOf(err) != want || len(m.Shown(chat)) != 2+i {
				t.Errorf("hanging Send: %v, %d shown", err, len(m.Shown(chat)))
			}
			cancel()
		}
	})
}

func TestSlowSendsAreCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New(memory.Options{Online: true})
		for _, f := range []memory.Fault{memory.Slow(time.Hour), memory.Until(make(chan struct{}))} {
			m.Next(f)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if _, err := m.Send(ctx, memory.Text(id, chat, "slow")); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Send: %v", err)
			}
			cancel()
		}
	})
}

func TestMemoryIsOfflineUntilItReconnects(t *testing.T) {
	full := memory.Full{Finding: memory.Finding{Channel: memory.New(memory.Options{Online: true})}}
	full.Next(memory.Fault{Offline: true})
	for range 2 {
		if _, err := full.Send(t.Context(), memory.Text(id, chat, "hi")); err == nil {
			t.Error("sent while offline")
		}
	}
	if ok, detail := full.Connected(); ok || detail == "" {
		t.Errorf("connected %t %q", ok, detail)
	}
	if _, err := full.Find(t.Context(), memory.Text(id, chat, "hi")); err == nil {
		t.Error("an offline channel knows what it sent")
	}
	full.Reconnect()
	if ok, _ := full.Connected(); !ok {
		t.Error("not connected")
	}
	if _, err := full.Send(t.Context(), memory.Text(id, chat, "hi")); err != nil {
		t.Error(err)
	}
}

func TestAskingMemory(t *testing.T) {
	m := memory.Finding{Channel: memory.New(memory.Options{Online: true, Forgets: true})}
	msg := memory.Text(id, chat, "hi")
	if r, err := m.Find(t.Context(), msg); r != nil || err != nil {
		t.Errorf("before: %v %v", r, err)
	}
	m.Next(memory.AmbiguousAfter())
	if _, err := m.Send(t.Context(), msg); err == nil {
		t.Error("no error")
	}
	if r, err := m.Find(t.Context(), msg); err != nil || r == nil || r.ID != m.Shown(chat)[0].ID {
		t.Errorf("after: %v %v", r, err)
	}
	if _, err := m.Send(t.Context(), msg); err != nil || len(m.Shown(chat)) != 2 {
		t.Errorf("a blind repeat shows %d times, want twice: %v", len(m.Shown(chat)), err)
	}
}

func TestRunEndsWithThePlatformsWord(t *testing.T) {
	m := memory.New(memory.Options{})
	gone := errors.New("the account was closed")
	ended := make(chan error, 1)
	go func() { ended <- m.Run(t.Context(), nothing{}) }()
	if err := m.Say(t.Context(), channel.Inbound{Chat: chat, Text: "hi"}); err == nil || err.Error() != "kept nothing" {
		t.Errorf("Say does not return what the inbox says: %v", err)
	}
	if err := m.Run(t.Context(), nothing{}); err == nil {
		t.Error("a second Run began")
	}
	m.End(gone)
	if err := <-ended; !errors.Is(err, gone) {
		t.Errorf("Run: %v", err)
	}
	if _, err := m.Send(t.Context(), memory.Text(id, chat, "late")); err == nil {
		t.Error("sent after the end")
	}
}

type nothing struct{}

func (nothing) Receive(context.Context, channel.Inbound) error            { return errors.New("kept nothing") }
func (nothing) Report(context.Context, groups.JID, string, channel.State) {}

func TestFullMemoryCountsTyping(t *testing.T) {
	full := memory.Full{Finding: memory.Finding{Channel: memory.New(memory.Options{})}}
	full.Typing(t.Context(), chat, "", true)
	full.Typing(t.Context(), chat, "", false)
	if on, elsewhere := full.Typists(chat), full.Typists("mem:work"); on != 1 || elsewhere != 0 {
		t.Errorf("typing was shown %d times, elsewhere %d; want 1 and 0", on, elsewhere)
	}
}
