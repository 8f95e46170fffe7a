package outbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/media"
)

// RoomForLink returns nil if a group may keep size more bytes for a link, a *FullError if
// the disk is too full, or a *LinkQuotaError. ahead is the bytes of links that the caller
// has accepted and not yet passed to Put; quota is the group's limit. All are bytes.
func (o *Outbox) RoomForLink(ctx context.Context, folder string, ahead, size, quota int64) error {
	used, err := o.reader.LinkBytes(ctx, folder)
	if err != nil {
		return err
	}
	if used+ahead+size > quota {
		return &LinkQuotaError{Used: used + ahead, Quota: quota}
	}
	return o.accepting(size)
}

// LinkQuotaError says that a group's links have reached the group's limit. It passes when
// a link expires or is revoked.
type LinkQuotaError struct{ Used, Quota int64 } // bytes

func (e *LinkQuotaError) Error() string {
	return fmt.Sprintf("the files behind this group's links have %s, at most %s may be kept", media.Size(e.Used), media.Size(e.Quota))
}

// OpenLink opens the file behind a link; the caller closes it. ErrNoLink: there is no such
// link, its delivery waits for an approval, it has expired, or it was revoked.
func (o *Outbox) OpenLink(ctx context.Context, id string) (records.Link, io.ReadSeekCloser, error) {
	l, err := o.reader.OpenLink(ctx, id)
	return o.openFile(ctx, l, err)
}

// KeptLink calls read with the bytes of the file behind a link, whose delivery may wait for
// an approval. ErrNoBytes: the link has expired, or was revoked.
func (o *Outbox) KeptLink(ctx context.Context, id string, read func(io.ReaderAt) error) error {
	l, err := o.reader.Link(ctx, id)
	_, f, err := o.openFile(ctx, l, err)
	if errors.Is(err, records.ErrNoLink) {
		return records.ErrNoBytes
	}
	if err != nil {
		return err
	}
	return readAt(f, read)
}

// openFile opens the file of a link that a reader has found.
func (o *Outbox) openFile(ctx context.Context, l records.Link, err error) (records.Link, io.ReadSeekCloser, error) {
	if err != nil {
		return records.Link{}, nil, err
	}
	f, err := o.state.Blobs.Open(ctx, l.File.Blob, l.File.SHA256, l.File.Size)
	if errors.Is(err, fs.ErrNotExist) {
		err = records.ErrNoLink // ended at this moment
	}
	return l, f, err
}

// EndLink ends a link before its time, and deletes its file. A download under way goes on.
// ErrNoLink: there is no such link any more.
func (o *Outbox) EndLink(ctx context.Context, id string) error {
	n, err := o.endLinks(ctx, func(t *state.Tx) ([]string, error) { return records.EndLink(t, id) })
	if err == nil && n == 0 {
		err = records.ErrNoLink
	}
	return err
}

// expireLinks deletes the files of links whose time is over, some in each commit.
func (o *Outbox) expireLinks(ctx context.Context, now time.Time) {
	for more := true; more && ctx.Err() == nil; {
		n, err := o.endLinks(context.Background(), func(t *state.Tx) ([]string, error) { return records.ExpireLinks(t, now) })
		if more = err == nil && n == records.Batch; err != nil {
			o.opts.Log.Error("delete files of links that expired", "error", err)
		}
	}
}

// endLinks ends links in three steps: mark the rows, delete the
// files, delete the rows. If the host dies between two steps, the next start continues.
// So no file is without a row, and no live row is without its file.
func (o *Outbox) endLinks(ctx context.Context, mark func(*state.Tx) ([]string, error)) (n int, err error) {
	var names []string
	err = o.state.Do(ctx, func(t *state.Tx) (err error) {
		names, err = mark(t)
		return err
	}, nil)
	if err != nil || len(names) == 0 {
		return 0, err
	}
	if err := o.state.Blobs.Remove(names...); err != nil {
		o.opts.Log.Warn("the file of a link is deleted at the next start", "error", err)
		return len(names), nil
	}
	return len(names), o.forgetEnded(ctx, names)
}

func (o *Outbox) forgetEnded(ctx context.Context, names []string) error {
	return o.state.Do(ctx, func(t *state.Tx) error { return records.ForgetLinks(t, names) }, nil)
}

// endLinksOf ends the links of parts that were cancelled: nobody has their addresses.
func (o *Outbox) endLinksOf(ctx context.Context, it *records.Record, cancelled []int) {
	for _, i := range cancelled {
		if l := it.Parts[i].Link; l != nil {
			if err := o.EndLink(ctx, l.ID); err != nil && !errors.Is(err, records.ErrNoLink) {
				o.opts.Log.Error("end the link of a cancelled message", "error", err)
			}
		}
	}
}

// checkLink checks a part's link and fills in what Put records of it.
func (it *item) checkLink(p *records.Part) error {
	if p.Link == nil {
		return nil
	}
	l := *p.Link
	f := &l.File
	if len(p.Files) > 0 || !blob.IsName(l.ID) || l.Expires.IsZero() || blob.IsName(f.Blob) == (f.Bytes != nil) || !blob.IsBlob(f.Blob) {
		return fmt.Errorf("delivery %s has a link that is not whole", it.Key)
	}
	if f.Bytes != nil {
		it.Small = append(it.Small, *f)
		f.Bytes = nil
	}
	p.Link = &l
	return nil
}
