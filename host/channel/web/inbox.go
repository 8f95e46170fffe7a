package web

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
)

var _ channel.Fetcher = (*Web)(nil)

// delivered records that messages have been passed to a page or a script.
func (w *Web) delivered(ctx context.Context, c *room, ms []*history.Message) {
	var ids []string
	for _, m := range ms {
		if m.Assistant && m.Status == history.Sent {
			ids = append(ids, m.ID)
		}
	}
	if err := w.report(ctx, c, ids, history.Delivered); err != nil {
		w.log.Error("note delivered messages", "chat", c.JID, "error", err)
	}
}

// report makes the step durable before it reports it to the host, so that no step is
// reported twice. If the host is not running, the step is reported another time.
func (w *Web) report(ctx context.Context, c *room, ids []string, to history.Status) error {
	in := w.inbox.Load()
	if in == nil || len(ids) == 0 {
		return nil
	}
	// The page has the messages, even if it does not wait for the answer.
	ctx = context.WithoutCancel(ctx)
	moved, err := w.store.Raise(ctx, c.name, ids, to)
	if err != nil {
		return err
	}
	state := channel.StateDelivered
	if to == history.Read {
		state = channel.StateRead
	}
	for _, id := range moved {
		(*in).Report(ctx, c.JID, id, state)
	}
	return nil
}

// give hands a post or an act to the host.
func (w *Web) give(ctx context.Context, in channel.Inbox, row journal.Inbound) error {
	m, err := w.store.Inbound(ctx, row)
	if err != nil || m.ID == "" {
		return err
	}
	if err := in.Receive(ctx, m); err != nil {
		return err
	}
	if chat, _ := history.ChatOf(row.Chat); row.Seq > 0 {
		w.hub.took(chat, row.ID)
	}
	return nil
}

// Fetch opens a member's file while its message is in the history.
func (w *Web) Fetch(ctx context.Context, f channel.FileRef) (io.ReadCloser, error) {
	if !w.opened.Load() {
		return nil, &channel.Error{Class: channel.Held, Code: "not_connected", Message: "the chat page does not run", Hint: "start the host"}
	}
	chat, _ := history.ChatOf(f.Chat)
	file, err := w.store.FileIn(ctx, chat, f.Ref)
	if err != nil {
		return nil, err
	}
	gone := channel.Unfetchable("the chat no longer keeps the file")
	if file == nil {
		return nil, gone
	}
	body, err := w.files.Open(ctx, file.ID, file.SHA256, file.Size)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, gone
	}
	return body, err
}
