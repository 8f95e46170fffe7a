package serve

import (
	"context"
	"errors"
	"time"

	"github.com/longshore-bridge/longshore/host/links"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc"
)

// linksToTell is what tools may tell of links; nil: they are not offered.
func (h *Host) linksToTell() *ipc.ContextLinks {
	terms, ok := h.LinkTerms()
	if !ok {
		return nil
	}
	return &ipc.ContextLinks{MaxBytes: terms.Largest, Seconds: int64(terms.For / time.Second)}
}

// OpenLink opens the file of a link. If links are no longer offered, there are none.
func (h *Host) OpenLink(ctx context.Context, id string) (links.File, error) {
	if _, ok := h.LinkTerms(); !ok {
		return links.File{}, links.ErrNone
	}
	l, content, err := h.Outbox.OpenLink(ctx, id)
	if errors.Is(err, outbox.ErrNoLink) {
		return links.File{}, links.ErrNone
	}
	return links.File{Name: l.File.Name, Size: l.File.Size, SHA256: l.File.SHA256, Content: content}, err
}
