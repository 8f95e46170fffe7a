package journal

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/wake"
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
	// Done records that the host has a message, or will never have it.
	Done(t *state.Tx, seq int64) error
}

// Give hands a message to the host: it calls in.Receive with what the message means, at most once.
type Give func(ctx context.Context, in channel.Inbox, m Inbound) error

// Hand gives the members' messages of a queue in db to in until ctx is done. Once give returns
// nil, the message is not given again. Its Inbound.Entry ends it in the host's own transaction; Hand
// ends those of which the host keeps nothing. Each chat's messages come in order, one at a time,
// and no chat waits for another. A message that give refuses is given again after 5 seconds, and is
// dropped after a day. Hand is called once; give is called from several goroutines, which have
// ended when Hand returns.
func Hand(ctx context.Context, db *state.DB, q Queue, log *slog.Logger, in channel.Inbox, give Give) {
	h := &hand{db: db, q: q, log: log, in: in, give: give, busy: map[groups.JID]bool{}, left: make(chan struct{}, 1)}
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
			h.serve(ctx, chat)
		}
		if len(chats) > 0 || err != nil {
			retry.Reset(again)
		}
	}
}

// Hand is [Hand] for the journal, and prunes it.
func (j *Journal) Hand(ctx context.Context, in channel.Inbox, give Give) {
	var pruning sync.WaitGroup
	defer pruning.Wait()
	pruning.Go(func() {
		for range wake.Every(ctx, pruneEvery) {
			j.prune(ctx)
		}
	})
	Hand(ctx, j.db, j, j.Log, in, give)
}

// hand is one Hand. It has a goroutine for each chat with messages.
type hand struct {
	db    *state.DB
	q     Queue
	log   *slog.Logger
	in    channel.Inbox
	give  Give
	chats sync.WaitGroup
	left  chan struct{} // holds a value after a chat was left

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
		if !h.drain(ctx, chat) {
			wake.Sleep(ctx, again)
		}
	})
}

// leave ends the serving of a chat, and has Hand look for what came in meanwhile.
func (h *hand) leave(chat groups.JID) {
	h.mu.Lock()
	delete(h.busy, chat)
	h.mu.Unlock()
	wake.Up(h.left)
}

// drain gives a chat's messages; false when one was not taken.
func (h *hand) drain(ctx context.Context, chat groups.JID) bool {
	for given := int64(0); ; {
		m, err := h.q.Next(context.WithoutCancel(ctx), chat)
		if err != nil || m == nil {
			return err == nil
		}
		one := entry{h.q, m.Seq}
		if m.Seq != given {
			if ctx.Err() != nil {
				return true // what was given last has ended
			}
			if given, err = m.Seq, h.give(ctx, entryInbox{h.in, one}, *m); err == nil {
				continue // the host has ended the entry, or Next returns it again
			}
			if ctx.Err() != nil || time.Since(m.Received) < giveUp {
				h.log.Info("a member's message waits", "chat", chat, "error", err)
				return false
			}
			h.log.Error("a member's message is dropped: nobody took it in a day", "chat", chat, "message", m.ID, "error", err)
		}
		if err := h.db.Do(context.WithoutCancel(ctx), one.Done, nil); err != nil {
			h.log.Error("record that a member's message is done", "chat", chat, "error", err)
			return false
		}
	}
}

// entry implements channel.Entry.
type entry struct {
	q   Queue
	seq int64
}

func (e entry) Done(t *state.Tx) error { return e.q.Done(t, e.seq) }

// entryInbox is the Inbox of one entry.
type entryInbox struct {
	channel.Inbox
	entry entry
}

func (i entryInbox) Receive(ctx context.Context, m channel.Inbound) error {
	m.Entry = i.entry
	return i.Inbox.Receive(ctx, m)
}
