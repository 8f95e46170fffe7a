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
	there, err := w.store.HasFile(ctx, chat, f.Ref)
	if err != nil {
		return nil, err
	}
	gone := channel.Unfetchable("the chat no longer keeps the file")
	if !there {
		return nil, gone
	}
	body, err := w.files.Open(f.Ref)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, gone
	}
	return body, err
}
