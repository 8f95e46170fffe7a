package httpd

import (
	"context"
	"net/http"
	"sync"
	"time"
)

const (
	maxPosts   = 8  // posts with files in progress
	maxWaiting = 64 // posts with files that wait for a place
	maxQueued  = 8  // of these, posts of one sender: a browser has six connections to a site

	// While a post waits, another keeps its place by transferring fairChunk
	// within each fairWindow, which is 64 KiB/s. The place with the oldest last
	// chunk is taken away first.
	fairWindow = 5 * time.Second
	fairChunk  = 64 << 10 * int64(fairWindow/time.Second)

	slotTimeout = 20 * time.Second // how long a post waits for a slot
)

// Places limits the posts with files whose bodies are being received. No post
// can keep a place by a slow transfer while another waits, no sender has more
// than half of the places, and none can fill the queue.
type Places struct {
	mu      sync.Mutex
	taken   map[*Place]bool
	waiting []*Place // in order of arrival
}

// Place is the place of one post. Places.mu guards all of it.
type Place struct {
	of      *Places
	by      any           // the sender; nil: unknown
	given   chan struct{} // closed when the post gets the place
	rc      *http.ResponseController
	n       int64     // bytes of the body so far
	fair    time.Time // when n last passed a multiple of fairChunk
	evicted bool
}

// NewPlaces returns places that are all free.
func NewPlaces() *Places { return &Places{taken: map[*Place]bool{}} }

// Take waits for a place, which the caller gives back with Leave. by identifies
// the sender, nil if unknown; rc is the controller of the post. Take returns
// nil if the queue is full or there was no place in 20 seconds.
func (ps *Places) Take(ctx context.Context, by any, rc *http.ResponseController) *Place {
	p := &Place{of: ps, by: by, rc: rc, given: make(chan struct{})}
	ps.mu.Lock()
	if len(ps.waiting) >= maxWaiting || by != nil && ps.queued(by) >= maxQueued {
		ps.mu.Unlock()
		return nil
	}
	ps.waiting = append(ps.waiting, p)
	ps.give()
	ps.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, slotTimeout)
	defer cancel()
	for {
		timer := time.NewTimer(ps.evict(time.Now()))
		select {
		case <-p.given:
			timer.Stop()
			return p
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			select {
			case <-p.given: // at the last moment
				return p
			default:
			}
			p.Leave()
			return nil
		}
	}
}

// give assigns free places to waiting posts. The caller holds mu.
func (ps *Places) give() {
	for i := 0; i < len(ps.waiting) && len(ps.taken) < maxPosts; {
		p := ps.waiting[i]
		if !ps.mayHave(p.by) {
			i++
			continue
		}
		ps.waiting = append(ps.waiting[:i:i], ps.waiting[i+1:]...)
		ps.taken[p] = true
		p.fair = time.Now()
		close(p.given)
	}
}

func (ps *Places) mayHave(by any) bool {
	n := 0
	for p := range ps.taken {
		if by != nil && p.by == by {
			n++
		}
	}
	return n < maxPosts/2
}

// queued returns how many posts of a sender wait. The caller holds mu.
func (ps *Places) queued(by any) (n int) {
	for _, p := range ps.waiting {
		if p.by == by {
			n++
		}
	}
	return n
}

// evict ends slow posts, the slowest first, one for each waiting post that may
// have its place. It returns the time until the next check.
func (ps *Places) evict(now time.Time) time.Duration {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	need := 0
	for _, p := range ps.waiting {
		if ps.mayHave(p.by) {
			need++
		}
	}
	for p := range ps.taken {
		if p.evicted {
			need-- // its place is about to be free
		}
	}
	for ; need > 0; need-- {
		slowest := ps.slowest()
		if slowest == nil {
			break
		}
		if wait := slowest.fair.Add(fairWindow).Sub(now); wait > 0 {
			return wait
		}
		slowest.evicted = true
		// Ends the Read that waits for more; see Body.
		_ = slowest.rc.SetReadDeadline(now)
	}
	return fairWindow
}

func (ps *Places) slowest() (slowest *Place) {
	for p := range ps.taken {
		if !p.evicted && (slowest == nil || p.fair.Before(slowest.fair)) {
			slowest = p
		}
	}
	return slowest
}

// Leave gives the place back, or stops waiting for one.
func (p *Place) Leave() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	delete(p.of.taken, p)
	for i, w := range p.of.waiting {
		if w == p {
			p.of.waiting = append(p.of.waiting[:i:i], p.of.waiting[i+1:]...)
			break
		}
	}
	p.of.give()
}

// moved counts received bytes of the body.
func (p *Place) moved(n int) {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	before := p.n / fairChunk
	p.n += int64(n)
	if p.n/fairChunk > before {
		p.fair = time.Now()
	}
}

// Lost reports whether the place was taken away for a waiting post.
func (p *Place) Lost() bool {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	return p.evicted
}
