package serve

import (
	"context"
	"errors"

	"github.com/longshore-bridge/longshore/host/links"
	"github.com/longshore-bridge/longshore/host/outbox/records"
)

// OpenLink implements links.Files: it opens the file of a link. The error is links.ErrNone if there is
// no such link, or if no channel offers links any more.
func (h *Host) OpenLink(ctx context.Context, id string) (links.File, error) {
	if _, ok := h.LinkTerms(); !ok {
		return links.File{}, links.ErrNone
	}
	l, content, err := h.Outbox.OpenLink(ctx, id)
	if errors.Is(err, records.ErrNoLink) {
		return links.File{}, links.ErrNone
	}
	return links.File{Name: l.File.Name, Size: l.File.Size, SHA256: l.File.SHA256, Content: content}, err
}
