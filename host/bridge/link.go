package bridge

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// Links is how a file that is too large for its chat becomes a link there.
type Links struct {
	For     time.Duration // how long a link can be followed
	Largest int64         // bytes of one file
	Quota   int64         // bytes of the files behind a group's links
	Address func(id string, expires time.Time) (string, error)
}

// links is how links are made now; nil: they are not offered.
func (b *Bridge) links() *Links {
	if b.Options.Links == nil {
		return nil
	}
	return b.Options.Links()
}

// asLink says whether a file that the check refused with err goes as a link: the channel
// takes smaller ones of its kind, it fits as nothing else, and neither the group's own limits
// nor that of links are in the way.
func (d destination) asLink(info media.Info, err error) bool {
	large, ok := errors.AsType[*media.LimitError](err)
	if d.links == nil || !ok || large.Limit == 0 || large.AsDocument || info.Size > d.links.Largest {
		return false
	}
	own, limited := d.source.Limits[string(info.Kind)]
	return !limited || info.Size <= own
}

// linkNote is what the result says of a file that goes as a link because of err.
func linkNote(note string, err error) string {
	return join(note, err.Error()+", so it goes as a link")
}

// roomForLink says whether size bytes more may be kept for a link. A full quota is a
// refusal: days may pass until there is room.
func (b *Bridge) roomForLink(ctx context.Context, folder string, ahead, size int64, links *Links) error {
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

// link makes the parts of a file that goes as a link: a message with its address, and with
// as much of the caption as fits.
func (b *Bridge) link(file outbox.File, caption string, dst destination) ([]outbox.Part, error) {
	var raw [16]byte
	rand.Read(raw[:])
	l := &outbox.Link{ID: hex.EncodeToString(raw[:]), Expires: time.Now().Add(dst.links.For).Truncate(time.Second), File: file}
	address, err := dst.links.Address(l.ID, l.Expires)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("`%s` (%s) is too large for this chat. Until %s it can be fetched here:\n%s",
		strings.ReplaceAll(file.Name, "`", "'"), media.Size(file.Size), until(l.Expires), address)
	if caption != "" {
		text += "\n\n" + caption
	}
	parts := texts(text, dst.limits)
	parts[0].Link = l
	return parts, nil
}

func until(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }
