package pace

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/groups"
)

// usual are the rates that WhatsApp has by default.
var usual = Rates{Chat: Rate{PerMinute: 12, Burst: 10}, Account: Rate{PerMinute: 30, Burst: 20}}

// goes waits as the outbox does, until the message may go.
func goes(p *Pacer, chat groups.JID) {
	for {
		wait := p.Turn(chat)
		if wait == 0 {
			return
		}
		time.Sleep(wait) // of the bubble's clock
	}
}

func TestSendsArePacedPerChatAndAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(usual)
		start := time.Now()
		for range 10 { // an album goes at once
			goes(p, "1@g.us")
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("ten messages took %v", d)
		}
		goes(p, "1@g.us")
		if d := time.Since(start); d != 5*time.Second {
			t.Errorf("the eleventh went after %v, want 5s", d)
		}
		if wait := p.Turn("2@g.us"); wait != 0 {
			t.Errorf("another chat waits %v for the first", wait)
		}
		slow := New(Rates{Chat: Rate{PerMinute: 1, Burst: 1}, Account: usual.Account})
		goes(slow, "1@g.us")
		for range 3 { // asking again costs no turn
			if wait := slow.Turn("1@g.us"); wait != time.Minute {
				t.Errorf("a long wait is one of %v", wait)
			}
		}
		time.Sleep(time.Minute)
		if wait := slow.Turn("1@g.us"); wait != 0 {
			t.Errorf("the turn that was kept is %v away", wait)
		}
	})
}

// TestChatsHaveTheAccountsTurnsInTheOrderInWhichTheyAsked: one that comes back
// late does not lose its turn to one that asks often.
func TestChatsHaveTheAccountsTurnsInTheOrderInWhichTheyAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Rates{Account: Rate{PerMinute: 60, Burst: 1}})
		goes(p, "0@g.us")
		for i := 1; i <= 3; i++ {
			for range 5 {
				if wait := p.Turn(groups.JID(fmt.Sprintf("%d@g.us", i))); wait != time.Duration(i)*time.Second {
					t.Errorf("chat %d waits %v", i, wait)
				}
			}
		}
		time.Sleep(3 * time.Second)
		for i := range 3 {
			if wait := p.Turn(groups.JID(fmt.Sprintf("%d@g.us", i+1))); wait != 0 {
				t.Errorf("chat %d still waits %v", i+1, wait)
			}
		}
		if wait := p.Turn("1@g.us"); wait != time.Second {
			t.Errorf("the next message waits %v", wait)
		}
	})
}

func TestNoRateIsNoLimit(t *testing.T) {
	p := New(Rates{Chat: Rate{PerMinute: -1}})
	for range 1000 {
		if wait := p.Turn("1@g.us"); wait != 0 {
			t.Fatal(wait)
		}
	}
}

func TestQuietChatsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Rates{Chat: Rate{PerMinute: 60, Burst: 1}})
		for i := range maxChats {
			goes(p, groups.JID(fmt.Sprintf("%d@g.us", i)))
		}
		p.Turn("0@g.us") // waits
		time.Sleep(time.Second)
		p.Turn("another@g.us")
		if len(p.chats) != 2 {
			t.Errorf("%d chats are remembered, want the one that waits and the new one", len(p.chats))
		}
	})
}
