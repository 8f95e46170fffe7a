package web

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/httpd"
	"github.com/longshore-bridge/longshore/media"
)

const (
	sweepEvery = 10 * time.Minute
	sweepBatch = 256 // messages deleted while a chat is held

	// keepGone is how long the ids of a deleted message are kept. No delivery is repeated
	// after that time.
	keepGone = 365 * 24 * time.Hour
)

// sweep deletes messages until ctx is done: expired ones at intervals, those beyond the
// quota as soon as they exceed it.
func (w *Web) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	all := true
	for {
		var err error
		switch now := w.now(); {
		case now.Keep <= 0 && !now.Roll:
		case all:
			err = w.sweepAll(ctx)
		default:
			err = w.sweepFull(ctx)
		}
		if err != nil && ctx.Err() == nil {
			w.log.Error("old messages were not deleted", "channel", w.Name(), "error", err)
		}
		select {
		case <-tick.C:
			all = true
		case <-w.full:
			all = false
		case <-ctx.Done():
			return
		}
	}
}

// sweepAll sweeps every chat of the history, even removed ones.
func (w *Web) sweepAll(ctx context.Context) error {
	for chat := ""; ; {
		next, err := w.store.nextChat(ctx, chat)
		if err != nil || next == "" {
			return err
		}
		chat = next
		if err := w.sweepChat(ctx, chat); err != nil {
			return err
		}
		if err := w.store.expireGone(ctx, chat, time.Now().Add(-keepGone), sweepBatch); err != nil {
			return err
		}
	}
}

// sweepFull sweeps the chats whose files exceed the quota.
func (w *Web) sweepFull(ctx context.Context) error {
	for _, chat := range w.blobs.above(w.now().Quota) {
		if err := w.sweepChat(ctx, chat); err != nil {
			return err
		}
	}
	return nil
}

// sweepChat deletes in batches. Between two batches the chat is usable.
func (w *Web) sweepChat(ctx context.Context, chat string) error {
	for {
		gone, err := w.forgetSome(ctx, chat)
		if err != nil {
			return err
		}
		// A crash here leaves files without rows, which the next start removes.
		if err := w.blobs.remove(chat, gone); err != nil {
			return err
		}
		if len(gone) < sweepBatch {
			return nil
		}
	}
}

// forgetSome deletes one batch, without the bytes.
func (w *Web) forgetSome(ctx context.Context, chat string) ([]forgotten, error) {
	var before time.Time
	if w.now().Keep > 0 {
		before = time.Now().Add(-w.now().Keep)
	}
	if r := w.now().known[chat]; r != nil {
		if err := r.enter(ctx); err != nil {
			return nil, err
		}
		defer r.leave()
	}
	var excess int64
	if w.now().Roll {
		excess = w.blobs.usedBy(chat) - w.now().Quota
	}
	// What has begun is brought to its end: it is little.
	gone, err := w.store.forget(context.WithoutCancel(ctx), chat, before, excess, sweepBatch)
	if err != nil || len(gone) == 0 {
		return nil, err
	}
	w.log.Info("old messages deleted", "channel", w.Name(), "chat", Scheme+chat, "messages", len(gone))
	return gone, nil
}

// rolls wakes the sweep if a chat's files exceed the quota.
func (w *Web) rolls(chat string) {
	if !w.now().Roll || w.blobs.usedBy(chat) <= w.now().Quota {
		return
	}
	select {
	case w.full <- struct{}{}:
	default: // it knows
	}
}

// behind reports whether a chat's files exceed the quota by more than one post may add, so
// that the sweep must catch up first.
func (w *Web) behind(chat string) bool {
	return w.blobs.usedBy(chat) > w.now().Quota+int64(w.opts.MaxFiles)*w.now().MaxUpload
}

// chatSpace applies the chat's quota to a file of the assistant: it refuses the file, or
// lets the oldest messages make room. ahead is the bytes that are on their way before this
// file.
func (w *Web) chatSpace(r *room, ahead, size int64) error {
	full := &channel.Error{Class: channel.Permanent, Code: "chat_full", Hint: "send a smaller file, or ask the operator"}
	switch {
	case !w.now().Roll && w.blobs.usedBy(r.name)+ahead+size > w.now().Quota:
		full.Message = fmt.Sprintf("the files of this chat take up %s, which is all they may", media.Size(w.now().Quota))
	case size > w.now().Quota:
		full.Message = fmt.Sprintf("the file has %s; this chat keeps %s of files in all", media.Size(size), media.Size(w.now().Quota))
	case w.now().Roll && w.behind(r.name):
		full.Class, full.Message, full.Hint = channel.Passing, "the oldest files of this chat are being deleted to make room", "nothing: it is tried again"
	default:
		return nil
	}
	return full
}

// postSpace is chatSpace for a member's post with files of that many bytes.
func (w *Web) postSpace(r *room, size int64) error {
	switch {
	case !w.now().Roll && w.blobs.usedBy(r.name) >= w.now().Quota:
		return httpd.Refuse(http.StatusInsufficientStorage, "quota", fmt.Sprintf("this chat's files take up %s, which is all they may", media.Size(w.now().Quota)),
			"ask the host's operator for more room")
	case w.now().Roll && size > w.now().Quota:
		return httpd.Refuse(http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("this chat keeps %s of files in all, and these are more", media.Size(w.now().Quota)),
			"send smaller files, or fewer at once")
	case w.now().Roll && w.behind(r.name):
		return httpd.Refuse(http.StatusServiceUnavailable, "busy", "the oldest files of this chat are being deleted to make room", "try again in a moment")
	}
	return nil
}
