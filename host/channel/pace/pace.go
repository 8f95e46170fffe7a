// Package pace limits a channel's rate of messages as its platform requires: a
// rate for each chat, and a rate for the account.
//
// Nothing here waits. [Pacer.Turn] returns how long a chat has to wait, and
// reserves that time for the chat. A channel's Send returns it as the
// RetryAfter of a temporary error, and the outbox waits.
package pace

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/longshore-bridge/longshore/groups"
)

// Rate is how often something may happen.
type Rate struct {
	PerMinute float64 // on average; 0 or less: no limit
	Burst     int     // at once, after a pause; at least 1
}

// Of returns the rate that a setting states.
func Of(r groups.Rate) Rate { return Rate{PerMinute: float64(r.PerMinute), Burst: r.Burst} }

// Rates are the rates of one account. A message counts against both.
type Rates struct {
	Chat    Rate // for each chat alone
	Account Rate // for all chats together
}

// maxChats is how many chats a Pacer remembers. A chat that it forgets has been
// quiet long enough for its full burst.
const maxChats = 4096

// Pacer reserves times for chats. Its methods may be called concurrently.
type Pacer struct {
	rates Rates

	mu      sync.Mutex
	account *rate.Limiter
	chats   map[groups.JID]*chat
}

type chat struct {
	limiter *rate.Limiter
	turn    time.Time // reserved for the chat's next message; zero: none
}

// New returns a Pacer for chats that have all been quiet.
func New(r Rates) *Pacer {
	return &Pacer{rates: r, account: limiter(r.Account), chats: map[groups.JID]*chat{}}
}

func limiter(r Rate) *rate.Limiter {
	if r.PerMinute <= 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(r.PerMinute/60), max(r.Burst, 1))
}

// Set changes the rates for later reservations. Existing reservations stay.
func (p *Pacer) Set(r Rates) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r == p.rates {
		return
	}
	p.rates = r
	set(p.account, r.Account)
	for _, c := range p.chats {
		set(c.limiter, r.Chat)
	}
}

func set(l *rate.Limiter, r Rate) {
	to := limiter(r)
	l.SetLimit(to.Limit())
	l.SetBurst(to.Burst())
}

// Turn returns how long the chat's next message has to wait. 0 means that the message may go, and
// counts it as sent. Otherwise the time is reserved: after it, Turn returns 0 once, whoever has
// asked in between. So chats send in the order of their first calls.
func (p *Pacer) Turn(name groups.JID) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	c := p.chat(name)
	if c.turn.IsZero() {
		account, own := p.account.ReserveN(now, 1), c.limiter.ReserveN(now, 1)
		c.turn = now.Add(max(account.DelayFrom(now), own.DelayFrom(now)))
	}
	if wait := c.turn.Sub(now); wait > 0 {
		return wait
	}
	c.turn = time.Time{}
	return 0
}

// chat is called with the lock held.
func (p *Pacer) chat(name groups.JID) *chat {
	c := p.chats[name]
	if c == nil {
		if len(p.chats) >= maxChats {
			p.forgetQuiet()
		}
		c = &chat{limiter: limiter(p.rates.Chat)}
		p.chats[name] = c
	}
	return c
}

// forgetQuiet is called with the lock held.
func (p *Pacer) forgetQuiet() {
	for name, c := range p.chats {
		if c.turn.IsZero() && c.limiter.Tokens() >= float64(c.limiter.Burst()) {
			delete(p.chats, name)
		}
	}
}
