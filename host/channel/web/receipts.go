package web

import (
	"cmp"
	"context"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
)

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

// notify tells browsers without an open page of the newest of a chat's messages.
func (w *Web) notify(r *room, ms []*history.Message) {
	if len(ms) == 0 {
		return
	}
	m := ms[len(ms)-1]
	text := m.AsQuote().Text // without marks
	if m.File != nil {
		text = cmp.Or(text, m.File.Name)
	}
	w.push.Notify(r.name, cleanName(r.Name, r.name), m.From, text)
}
