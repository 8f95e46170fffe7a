package turns

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// How often the host answers members: in a chat, and one member of it.
const (
	answersBurst  = 8
	answersEvery  = 10 * time.Second
	memberBurst   = 3
	memberEvery   = 20 * time.Second
	maxAnswerings = 256 // members that are remembered
)

// answerPace limits the host's answers in a chat. The zero value is ready.
type answerPace struct {
	mu      sync.Mutex
	all     *rate.Limiter
	members map[string]*rate.Limiter
}

// allow reports whether one more answer to that member may be sent now.
func (p *answerPace) allow(member string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = rate.NewLimiter(rate.Every(answersEvery), answersBurst)
	}
	if p.members == nil || len(p.members) >= maxAnswerings {
		p.members = map[string]*rate.Limiter{}
	}
	if p.members[member] == nil {
		p.members[member] = rate.NewLimiter(rate.Every(memberEvery), memberBurst)
	}
	return p.members[member].Allow() && p.all.Allow()
}
