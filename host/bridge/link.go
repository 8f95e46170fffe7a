package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/bridge/report"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// linkNote returns the note on a file that becomes a link because of err.
func linkNote(note string, err error) string {
	return report.Notes(note, err.Error()+", so it goes as a link")
}

// roomForLink returns an error if size bytes more do not fit into the quota of the group's
// links. A full quota is a refusal: days may pass until there is room.
func (b *Bridge) roomForLink(ctx context.Context, folder string, ahead, size int64, links *channel.LinkTerms) error {
	err := b.Outbox.RoomForLink(ctx, folder, ahead, size, links.Quota)
	full, ok := errors.AsType[*outbox.LinkQuotaError](err)
	if !ok {
		return err
	}
	return &ipc.Refusal{
		Code: "links_full", Message: full.Error(),
		Hint: "make the file smaller, or ask the operator to revoke links that are no longer needed (longshore links)",
	}
}

// link returns the parts for a file that becomes a link: a message with its address and the
// caption.
func (b *Bridge) link(file records.File, caption string, dst destination) ([]records.Part, error) {
	l := &records.Link{ID: outbox.RandomID(), Expires: time.Now().Add(dst.links.For).Truncate(time.Second), File: file}
	address, err := b.Addresses.Address(dst.links.URL, l.ID, l.Expires)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("`%s` (%s) is too large for this chat. Until %s it can be fetched here:\n%s",
		strings.ReplaceAll(file.Name, "`", "'"), media.Size(file.Size), report.Until(l.Expires), address)
	if caption != "" {
		text += "\n\n" + caption
	}
	parts := texts(text, dst.limits)
	parts[0].Link = l
	return parts, nil
}
