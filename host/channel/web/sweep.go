package web

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/internal/wake"
	"github.com/longshore-bridge/longshore/media"
)

const (
	sweepEvery = 10 * time.Minute

	// lengthEvery is how many messages of all chats may come between two looks at the length
	// of a chat: one whose message has a multiple of it as its number is looked at. So a chat
	// costs nothing while nobody writes there.
	lengthEvery = 256
)

// sweep deletes messages until ctx is done: expired ones at intervals, those beyond a chat's
// length or the quota as soon as they exceed it.
func (w *Web) sweep(ctx context.Context) {
	tick := time.Tick(sweepEvery)
	all := true
	for {
		var err error
		if all {
			err = w.sweepOld(ctx)
		}
		if err == nil {
			err = w.sweepFull(ctx)
		}
		if err != nil && ctx.Err() == nil {
			w.log.Error("old messages were not deleted", "error", err)
		}
		select {
		case <-tick:
			all = true
		case <-w.full:
			all = false
		case <-ctx.Done():
			return
		}
	}
}

// sweepOld deletes expired messages of every chat of the history, even of removed ones, and
// the records of those that were deleted long ago.
func (w *Web) sweepOld(ctx context.Context) error {
	if keep := w.now().Keep; keep > 0 {
		if err := w.forget(ctx, history.Rule{Before: time.Now().Add(-keep)}); err != nil {
			return err
		}
	}
	return w.store.ExpireGone(ctx)
}

// sweepFull deletes the oldest messages of the chats that keep too much.
func (w *Web) sweepFull(ctx context.Context) error {
	quota := int64(math.MaxInt64)
	if w.now().Roll {
		quota = w.now().Quota
	}
	for _, chat := range w.files.Marked(quota) {
		r := history.Rule{Chat: chat, Excess: w.files.UsedBy(chat) - quota}
		var err error
		if keep := w.now().Messages; keep > 0 {
			r.UpTo, err = w.store.Beyond(ctx, chat, keep)
		}
		if err == nil {
			err = w.forget(ctx, r)
		}
		if err != nil {
			w.files.Mark(chat)
			return err
		}
	}
	return nil
}

// forget deletes messages and their files by a rule.
func (w *Web) forget(ctx context.Context, r history.Rule) error {
	total, err := w.store.Forget(ctx, r, w.files)
	if total > 0 {
		w.log.Info("old messages deleted", "chat", r.Chat, "messages", total)
	}
	return err
}

// rolls wakes the sweep if a chat may keep too much after new messages.
func (w *Web) rolls(chat string, msgs []*history.Message) {
	now := w.now()
	long := now.Messages > 0 && slices.ContainsFunc(msgs, func(m *history.Message) bool { return m.Seq%lengthEvery == 0 })
	if long || now.Roll && w.files.UsedBy(chat) > now.Quota {
		w.files.Mark(chat)
		wake.Up(w.full)
	}
}

// behind reports whether a chat's files exceed the quota by more than one post may add, so
// that the sweep must catch up first.
func (w *Web) behind(chat string) bool {
	return w.files.UsedBy(chat) > w.now().Quota+int64(w.opts.MaxFiles)*w.now().MaxUpload
}

// chatSpace applies the chat's quota to a file of the assistant: it refuses the file, or
// lets the oldest messages make room. ahead is the bytes that are on their way before this
// file.
func (w *Web) chatSpace(r *room, ahead, size int64) error {
	full := &channel.Error{Class: channel.Permanent, Code: "chat_full", Hint: "send a smaller file, or ask the operator"}
	switch {
	case !w.now().Roll && w.files.UsedBy(r.name)+ahead+size > w.now().Quota:
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
	case !w.now().Roll && w.files.UsedBy(r.name) >= w.now().Quota:
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
