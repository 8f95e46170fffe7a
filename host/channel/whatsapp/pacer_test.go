package whatsapp

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
)

func TestSendsArePacedPerChatAndAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(Rates{})
		ctx := t.Context()
		start := time.Now()
		for range 10 { // an album goes at once
			if err := p.wait(ctx, "1@g.us"); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("ten messages took %v", d)
		}
		if err := p.wait(ctx, "1@g.us"); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d != 5*time.Second {
			t.Errorf("the eleventh went after %v, want 5s", d)
		}
		if err := p.wait(ctx, "2@g.us"); err != nil || time.Since(start) != 5*time.Second {
			t.Errorf("another chat waited for the first: %v", err)
		}
		slow := newPacer(Rates{ChatPerMinute: 1, ChatBurst: 1})
		if err := slow.wait(ctx, "1@g.us"); err != nil {
			t.Fatal(err)
		}
		for range 3 { // a refused wait costs no turn
			err := slow.wait(ctx, "1@g.us")
			if channel.ClassOf(err) != channel.Passing || channel.RetryAfterOf(err) != time.Minute {
				t.Errorf("a long wait is %v after %v", channel.ClassOf(err), channel.RetryAfterOf(err))
			}
		}
	})
}

func TestWaitingForATurnEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(Rates{ChatPerMinute: 12, ChatBurst: 1})
		if err := p.wait(t.Context(), "1@g.us"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.wait(ctx, "1@g.us"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("wait: %v", err)
		}
	})
}

func TestNoRateIsNoLimit(t *testing.T) {
	p := newPacer(Rates{ChatPerMinute: -1, AccountPerMinute: -1})
	for range 1000 {
		if err := p.wait(t.Context(), "1@g.us"); err != nil {
			t.Fatal(err)
		}
	}
}
