package whatsapp

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// Rates is how often messages are sent. WhatsApp bans accounts that write like
// a machine; where it draws the line is not known. 0 takes the default that a
// field's comment names, a negative number is no limit.
type Rates struct {
	ChatPerMinute    float64 // 12
	ChatBurst        int     // 10: an album at once
	AccountPerMinute float64 // 30
	AccountBurst     int     // 20
}

// patience is how long a Send waits for its turn; a longer wait is the
// caller's, who can do something else meanwhile.
const patience = 10 * time.Second

// maxPaced is how many chats' rates are remembered; a chat that is forgotten
// has been quiet for long enough to have its burst again.
const maxPaced = 4096

type pacer struct {
	rates   Rates
	account *rate.Limiter

	mu    sync.Mutex
	chats map[groups.JID]*rate.Limiter
}

func newPacer(r Rates) *pacer {
	if r.ChatPerMinute == 0 {
		r.ChatPerMinute = 12
	}
	if r.ChatBurst == 0 {
		r.ChatBurst = 10
	}
	if r.AccountPerMinute == 0 {
		r.AccountPerMinute = 30
	}
	if r.AccountBurst == 0 {
		r.AccountBurst = 20
	}
	return &pacer{rates: r, account: limiter(r.AccountPerMinute, r.AccountBurst), chats: map[groups.JID]*rate.Limiter{}}
}

func limiter(perMinute float64, burst int) *rate.Limiter {
	if perMinute < 0 || burst < 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(perMinute/60), burst)
}

func (p *pacer) chat(chat groups.JID) *rate.Limiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.chats[chat]
	if l == nil {
		if len(p.chats) >= maxPaced {
			for old, l := range p.chats {
				if l.Tokens() >= float64(l.Burst()) {
					delete(p.chats, old)
				}
			}
		}
		l = limiter(p.rates.ChatPerMinute, p.rates.ChatBurst)
		p.chats[chat] = l
	}
	return l
}

// wait waits for the chat's turn, or says when to come again.
func (p *pacer) wait(ctx context.Context, chat groups.JID) error {
	now := time.Now()
	account := p.account.ReserveN(now, 1)
	own := p.chat(chat).ReserveN(now, 1)
	delay := max(account.DelayFrom(now), own.DelayFrom(now))
	giveBack := func() {
		own.CancelAt(now)
		account.CancelAt(now)
	}
	if delay > patience {
		giveBack()
		return &channel.Error{
			Class: channel.Passing, Code: "rate_limited", RetryAfter: delay,
			Message: "messages go to WhatsApp slowly, to keep the account from being banned",
			Hint:    "it is sent by itself as soon as the rate allows",
		}
	}
	if delay == 0 {
		return nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		giveBack()
		return ctx.Err()
	}
}
