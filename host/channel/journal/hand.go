package journal

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/groups"
)

const (
	again  = 5 * time.Second // after a message was not taken
	giveUp = 24 * time.Hour  // after which such a message is dropped
)

// Queue holds what members wrote until the host has it. A Journal is one; a
// channel that keeps its chats' history has one in there.
type Queue interface {
	// News holds a value after something came in.
	News() <-chan struct{}
	// Waiting are the chats with messages that the host does not have.
	Waiting(ctx context.Context) ([]groups.JID, error)
	// Next is the oldest such message of a chat; nil if there is none.
	Next(ctx context.Context, chat groups.JID) (*Inbound, error)
	// Done says that the host has a message, or will never have it.
	Done(ctx context.Context, seq int64) error
}

// Hand gives members' messages to the host until ctx is done. give returns nil
// once the host keeps the message; then it is not given again. Each chat's
// messages come in order, one at a time, and no chat waits for another. A message
// that give refuses is given again after 5 seconds, and is dropped after a day.
// Hand is called once; give is called from several goroutines, which have ended
// when Hand returns.
func Hand(ctx context.Context, q Queue, log *slog.Logger, give func(context.Context, Inbound) error) {
	h := &hand{q: q, log: log, busy: map[groups.JID]bool{}, left: make(chan struct{}, 1)}
	defer h.chats.Wait()
	retry := time.NewTimer(0)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.News():
		case <-h.left:
		case <-retry.C:
		}
		chats, err := q.Waiting(ctx)
		if err != nil && ctx.Err() == nil {
			log.Error("look for members' messages", "error", err)
		}
		for _, chat := range chats {
			h.serve(ctx, chat, give)
		}
		if len(chats) > 0 || err != nil {
			retry.Reset(again)
		}
	}
}

// Hand is [Hand] for the journal, and prunes it.
func (j *Journal) Hand(ctx context.Context, give func(context.Context, Inbound) error) {
	var pruning sync.WaitGroup
	defer pruning.Wait()
	pruning.Go(func() {
		tick := time.NewTicker(pruneEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				j.prune(ctx)
			}
		}
	})
	Hand(ctx, j, j.Log, give)
}

// hand is one Hand. It has a goroutine for each chat with messages.
type hand struct {
	q     Queue
	log   *slog.Logger
	chats sync.WaitGroup
	left  chan struct{} // holds a value after a chat was left

	mu   sync.Mutex
	busy map[groups.JID]bool
}

// serve starts to serve a chat, unless it is being served.
func (h *hand) serve(ctx context.Context, chat groups.JID, give func(context.Context, Inbound) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.busy[chat] {
		return
	}
	h.busy[chat] = true
	h.chats.Go(func() {
		defer h.leave(chat)
		if h.drain(ctx, chat, give) {
			return
		}
		timer := time.NewTimer(again) // not taken: the chat rests
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	})
}

// leave ends the serving of a chat, and has Hand look for what came in meanwhile.
func (h *hand) leave(chat groups.JID) {
	h.mu.Lock()
	delete(h.busy, chat)
	h.mu.Unlock()
	select {
	case h.left <- struct{}{}:
	default: // it is going to look
	}
}

// drain gives a chat's messages; false when one was not taken.
func (h *hand) drain(ctx context.Context, chat groups.JID, give func(context.Context, Inbound) error) bool {
	for ctx.Err() == nil {
		m, err := h.q.Next(ctx, chat)
		if err != nil || m == nil {
			return err == nil
		}
		if err := give(ctx, *m); err != nil {
			if ctx.Err() != nil || time.Since(m.Received) < giveUp {
				h.log.Info("a member's message waits", "chat", chat, "error", err)
				return false
			}
			h.log.Error("a member's message is dropped: nobody took it in a day", "chat", chat, "message", m.ID, "error", err)
		}
		if err := h.q.Done(context.WithoutCancel(ctx), m.Seq); err != nil {
			h.log.Error("record that a member's message is kept", "chat", chat, "error", err)
			return false
		}
	}
	return true
}

// Once says of what was seen before, for receipts: in a group, every member's
// devices report of the same message. It remembers the last few thousand. The
// zero Once is ready; it belongs to one goroutine.
type Once[K comparable] struct{ seen map[K]bool }

// maxOnce is how much a Once remembers.
const maxOnce = 4096

// Has reports whether k was noted.
func (o *Once[K]) Has(k K) bool { return o.seen[k] }

// Note notes k.
func (o *Once[K]) Note(k K) {
	if o.seen == nil || len(o.seen) >= maxOnce {
		o.seen = map[K]bool{}
	}
	o.seen[k] = true
}
