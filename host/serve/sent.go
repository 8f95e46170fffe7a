package serve

import (
	"context"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/assistant"
	"github.com/longshore-bridge/longshore/host/outbox"
)

// mostSent is how many deliveries are looked through for those of one turn.
const mostSent = 200

// sent is what a group's assistant has sent with its tools to a thread of its own
// chat since then, the oldest first. What failed is not in it.
func (h *Host) sent(folder, thread string, since time.Time) (all []assistant.Sent, err error) {
	g, ok := h.Registry().ByFolder(folder)
	if !ok {
		return nil, nil
	}
	found, err := h.Outbox.List(context.Background(), outbox.Filter{Folder: folder, Limit: mostSent})
	if err != nil {
		return nil, err
	}
	for _, d := range slices.Backward(found) {
		if d.Request == "" || d.Thread != thread || d.Address() != g.Address() || d.Created.Before(since) {
			continue
		}
		for i := range d.Parts {
			all = append(all, sentBy(&d.Parts[i])...)
		}
	}
	return all, nil
}

func sentBy(p *outbox.Part) (all []assistant.Sent) {
	open := p.State == outbox.Queued || p.State == outbox.Sending || p.State == outbox.Pending || p.State == outbox.Waiting
	if !open && p.State != outbox.Sent && p.State != outbox.Delivered && p.State != outbox.Read {
		return nil
	}
	for _, f := range p.Files {
		all = append(all, assistant.Sent{Name: f.Name, Open: open})
	}
	if len(p.Files) == 0 {
		all = append(all, assistant.Sent{Open: open})
	}
	return all
}
