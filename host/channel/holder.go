package channel

import (
	"context"
	"sync"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/media"
)

// Holder has a host's channel of one name, which a reload may replace by another one of that name.
// It stands in lists of channels: [Named] and [Current] return the channel that it has.
type Holder struct {
	mu    sync.Mutex
	now   Channel
	count int                // of Replace
	end   context.CancelFunc // ends the Run of now; nil: it does not run
}

// StandIn is implemented by what a Holder has in the place of a channel that is down. It knows nothing of
// what the channel was given, and not what it could do: both wait for the channel.
type StandIn interface {
	Held() error // what Send returns
}

// NewHolder returns a Holder of c.
func NewHolder(c Channel) *Holder { return &Holder{now: c} }

// Current returns the channel that c has, if c is a Holder, else c.
func Current(c Channel) Channel {
	if h, ok := c.(*Holder); ok {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.now
	}
	return c
}

// Replace puts next in the place of the channel, whose Run ends. Then Run runs next.
func (h *Holder) Replace(next Channel) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = next
	if h.count++; h.end != nil {
		h.end()
	}
}

// Run runs the channel, and each that replaces it, until ctx is done or one of them fails.
func (h *Holder) Run(ctx context.Context, in Inbox) error {
	for {
		h.mu.Lock()
		now, count := h.now, h.count
		running, end := context.WithCancel(ctx)
		h.end = end
		h.mu.Unlock()
		err := now.Run(running, in)
		end()
		h.mu.Lock()
		same := h.count == count // a Channel need not be comparable
		h.mu.Unlock()
		if ctx.Err() != nil || same {
			return err
		}
	}
}

// Name implements Channel.
func (h *Holder) Name() string { return Current(h).Name() }

// Owns implements Channel.
func (h *Holder) Owns(chat groups.JID) bool { return Current(h).Owns(chat) }

// Limits implements Channel.
func (h *Holder) Limits() media.Limits { return Current(h).Limits() }

// Repeat implements Channel.
func (h *Holder) Repeat() Repeat { return Current(h).Repeat() }

// Send implements Channel.
func (h *Holder) Send(ctx context.Context, m Message) (Receipt, error) {
	return Current(h).Send(ctx, m)
}
