package httpd

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	maxPosts   = 8  // posts with files in progress
	maxWaiting = 64 // posts with files that wait for a slot
	maxQueued  = 8  // of these, posts of one sender: a browser has six connections to a site

	// While a post waits, another keeps its slot by transferring fairChunk within each fairWindow,
	// which is 64 KiB/s. The slot with the oldest last chunk is taken away first.
	fairWindow = 5 * time.Second
	fairChunk  = 64 << 10 * int64(fairWindow/time.Second)

	slotTimeout = 20 * time.Second // how long a post waits for a slot
)

// UploadSlots limits the posts with files whose bodies are being received. No post
// can keep a slot by a slow transfer while another waits, no sender has more
// than half of the slots, and none can fill the queue.
type UploadSlots struct {
	mu      sync.Mutex
	taken   map[*UploadSlot]bool
	waiting []*UploadSlot // in order of arrival
}

// UploadSlot is the slot of one post. UploadSlots.mu guards all of it.
type UploadSlot struct {
	of      *UploadSlots
	by      any           // the sender; nil: unknown
	given   chan struct{} // closed when the post gets the slot
	rc      *http.ResponseController
	n       int64     // bytes of the body so far
	fair    time.Time // when n last passed a multiple of fairChunk
	evicted bool
}

// NewUploadSlots returns slots that are all free.
func NewUploadSlots() *UploadSlots { return &UploadSlots{taken: map[*UploadSlot]bool{}} }

// Take waits for a slot, which the caller gives back with Leave. by identifies
// the sender, nil if unknown; rc is the controller of the post. Take returns
// nil if the queue is full or there was no slot in 20 seconds.
func (ps *UploadSlots) Take(ctx context.Context, by any, rc *http.ResponseController) *UploadSlot {
	p := &UploadSlot{of: ps, by: by, rc: rc, given: make(chan struct{})}
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
		select {
		case <-p.given:
			return p
		case <-time.After(ps.evict(time.Now())):
		case <-ctx.Done():
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

// give assigns free slots to waiting posts. The caller holds mu.
func (ps *UploadSlots) give() {
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

func (ps *UploadSlots) mayHave(by any) bool {
	n := 0
	for p := range ps.taken {
		if by != nil && p.by == by {
			n++
		}
	}
	return n < maxPosts/2
}

// queued returns how many posts of a sender wait. The caller holds mu.
func (ps *UploadSlots) queued(by any) (n int) {
	for _, p := range ps.waiting {
		if p.by == by {
			n++
		}
	}
	return n
}

// evict ends slow posts, the slowest first, one for each waiting post that may
// have its slot. It returns the time until the next check.
func (ps *UploadSlots) evict(now time.Time) time.Duration {
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
			need-- // its slot is about to be free
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

func (ps *UploadSlots) slowest() (slowest *UploadSlot) {
	for p := range ps.taken {
		if !p.evicted && (slowest == nil || p.fair.Before(slowest.fair)) {
			slowest = p
		}
	}
	return slowest
}

// Leave gives the slot back, or stops waiting for one.
func (p *UploadSlot) Leave() {
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

// Body is the body of the slot's post, of at most that many bytes.
func (p *UploadSlot) Body(rw http.ResponseWriter, r *http.Request, most int64) io.ReadCloser {
	return newBody(rw, r, most, Steady, p)
}

// moved counts received bytes of the body.
func (p *UploadSlot) moved(n int) {
	if p == nil {
		return
	}
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	before := p.n / fairChunk
	p.n += int64(n)
	if p.n/fairChunk > before {
		p.fair = time.Now()
	}
}

// Lost reports whether the slot was taken away for a waiting post.
func (p *UploadSlot) Lost() bool {
	if p == nil {
		return false
	}
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	return p.evicted
}
