package web

import (
	"context"

	"github.com/longshore-bridge/longshore/host/channel"
)

// delivered notes that messages have been handed to a page or a script.
func (w *Web) delivered(ctx context.Context, c *room, ms []*Message) {
	var ids []string
	for _, m := range ms {
		if m.Assistant && m.Status == Sent {
			ids = append(ids, m.ID)
		}
	}
	if err := w.report(ctx, c, ids, Delivered); err != nil {
		w.log.Error("note delivered messages", "channel", w.Name(), "chat", c.JID, "error", err)
	}
}

// report makes the step durable before it tells the host, so that no step is
// told twice. What nobody runs to hear stays as it is and is told another time.
func (w *Web) report(ctx context.Context, c *room, ids []string, to Status) error {
	in := w.inbox.Load()
	if in == nil || len(ids) == 0 {
		return nil
	}
	// The page has the messages, whether or not it stays for the answer.
	ctx = context.WithoutCancel(ctx)
	moved, err := w.store.raise(ctx, c.name, ids, to)
	if err != nil {
		return err
	}
	if len(moved) > 0 {
		w.hub.moved(c.name, moved, to)
	}
	state := channel.StateDelivered
	if to == Read {
		state = channel.StateRead
	}
	for _, id := range moved {
		(*in).Report(ctx, c.JID, id, state)
	}
	return nil
}
