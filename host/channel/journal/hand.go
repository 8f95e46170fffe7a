package journal

import (
	"context"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/groups"
)

const (
	again  = 5 * time.Second // after a message was not taken
	giveUp = 24 * time.Hour  // after which such a message is dropped
)

// Hand gives members' messages to the host until ctx is done, and prunes the
// journal. give returns nil once the host keeps the message; then it is not given
// again. Each chat's messages come in order, one at a time, and no chat waits for
// another. A message that give refuses is given again after 5 seconds, and is
// dropped after a day. Hand is called once; give is called from several
// goroutines, which have ended when Hand returns.
func (j *Journal) Hand(ctx context.Context, give func(context.Context, Inbound) error) {
	h := &hand{j: j, give: give, busy: map[groups.JID]bool{}}
	defer h.chats.Wait()
	retry, prune := time.NewTimer(0), time.NewTicker(pruneEvery)
	defer retry.Stop()
	defer prune.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-prune.C:
			j.prune(ctx)
			continue
		case <-j.news:
		case <-retry.C:
		}
		chats, err := j.open(ctx)
		if err != nil && ctx.Err() == nil {
			j.log.Error("look for members' messages", "error", err)
		}
		for _, chat := range chats {
			h.serve(ctx, chat)
		}
		if len(chats) > 0 || err != nil {
			retry.Reset(again)
		}
	}
}

// hand is one Hand. It has a goroutine for each chat with messages.
type hand struct {
	j     *Journal
	give  func(context.Context, Inbound) error
	chats sync.WaitGroup

	mu   sync.Mutex
	busy map[groups.JID]bool
}

// serve starts to serve a chat, unless it is being served.
func (h *hand) serve(ctx context.Context, chat groups.JID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.busy[chat] {
		return
	}
	h.busy[chat] = true
	h.chats.Go(func() {
		defer h.leave(chat)
		if h.drain(ctx, chat) {
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

// leave ends the serving of a chat, and looks for what came in meanwhile.
func (h *hand) leave(chat groups.JID) {
	h.mu.Lock()
	delete(h.busy, chat)
	h.mu.Unlock()
	h.j.poke()
}

// drain gives a chat's messages; false when one was not taken.
func (h *hand) drain(ctx context.Context, chat groups.JID) bool {
	for ctx.Err() == nil {
		m, err := h.j.next(ctx, chat)
		if err != nil || m == nil {
			return err == nil
		}
		if err := h.give(ctx, *m); err != nil {
			if ctx.Err() != nil || time.Since(m.Received) < giveUp {
				h.j.log.Info("a member's message waits", "chat", chat, "error", err)
				return false
			}
			h.j.log.Error("a member's message is dropped: nobody took it in a day", "chat", chat, "message", m.ID, "error", err)
		}
		if err := h.j.done(context.WithoutCancel(ctx), m.Seq); err != nil {
			h.j.log.Error("record that a member's message is kept", "chat", chat, "error", err)
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

// Has says whether k was noted.
func (o *Once[K]) Has(k K) bool { return o.seen[k] }

// Note notes k.
func (o *Once[K]) Note(k K) {
	if o.seen == nil || len(o.seen) >= maxOnce {
		o.seen = map[K]bool{}
	}
	o.seen[k] = true
}
