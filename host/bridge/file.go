package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"github.com/longshore-bridge/longshore/host/bridge/report"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/internal/wake"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
	"github.com/longshore-bridge/longshore/media"
)

// origin is where a request comes from.
type origin struct {
	folder  string // of the group
	request string // its id; empty: it did not come through the queue
	open    Opener
	found   *spool.Found
}

// measured notes what the next file of the request is.
func (o origin) measured(info media.Info) {
	if f := o.found.Files; info.Kind != "" {
		f[len(f)-1] = ipc.Outcome{Name: info.Name, Kind: string(info.Kind), Size: info.Size}
	}
}

// copied notes the bytes of a file that was copied; it may still be refused.
func (o origin) copied(b outbox.Blob) {
	f := &o.found.Files[len(o.found.Files)-1]
	f.Size, f.SHA256 = b.Size, b.SHA256
}

// copies is how often the bridge tries to copy a file that changes meanwhile.
const copies = 3

// copyPause is the time between two tries.
const copyPause = 20 * time.Millisecond

// file opens, checks and copies one file, or what it was converted into. The
// descriptor that was checked is the one that is copied. It calls room before the first
// byte is copied. linked means that the file is too large for the chat and becomes a link.
func (b *Bridge) file(ctx context.Context, o origin, ref ipc.FileRef, dst destination, room func(size int64, linked bool) error) (_ records.File, linked bool, _ error) {
	f, err := o.open(ref.Path)
	if err != nil {
		return records.File{}, false, err
	}
	defer f.Close()
	b.Trace(o.folder, o.request, "opened")
	if err := dst.screenSource(o.open, ref); err != nil {
		return records.File{}, false, err
	}
	out, err := b.shown(ctx, f.File, ref, dst)
	if err != nil {
		return records.File{}, false, err
	}
	defer out.close()
	names := namesOf(f.Names, ref)
	for try := range copies {
		info, err := dst.checkOutgoing(out)
		out.info = media.Info{} // of this try alone
		linked, tooLarge := dst.asLink(info, err), err
		o.measured(info)
		if err != nil && !linked {
			return records.File{}, false, err
		}
		if err := dst.permit(info); err != nil {
			return records.File{}, false, err
		}
		b.Trace(o.folder, o.request, "checked")
		if try == 0 {
			if err := room(info.Size, linked); err != nil {
				return records.File{}, false, err
			}
		}
		blob, err := b.copy(ctx, out.file, info, out.ref, dst, names...)
		if blob.SHA256 != "" {
			o.copied(blob)
		}
		if err == nil {
			info.Note = report.Notes(out.note, info.Note)
			if linked {
				info.Note = linkNote(info.Note, tooLarge)
			}
			b.Trace(o.folder, o.request, "copied")
			return records.File{Info: info, SHA256: blob.SHA256, Blob: blob.Name, Bytes: blob.Bytes, Names: names}, linked, nil
		}
		if !errors.Is(err, outbox.ErrChanged) {
			return records.File{}, false, fmt.Errorf("copy %q: %w", ref.Path, err)
		}
		if !wake.Sleep(ctx, copyPause) { // a program that has just written the file may be about to close it
			return records.File{}, false, ctx.Err()
		}
	}
	return records.File{}, false, &ipc.Refusal{
		Code:    "file_changing",
		Message: fmt.Sprintf("%q changes while it is read", path.Base(ref.Path)),
		Hint:    "finish writing the file and close it, then send it; of a file that a program keeps writing, send a copy",
	}
}

// copy copies a file into the outbox and checks the copy again: a file that was exchanged
// between check and copy may be of another kind. The copy is what is screened, under all
// names of the file. If the screen refuses it, the error comes with its size and hash.
func (b *Bridge) copy(ctx context.Context, f *os.File, checked media.Info, ref ipc.FileRef, dst destination, names ...string) (outbox.Blob, error) {
	blob, err := b.Outbox.CopyFile(ctx, f, checked.Size)
	if err != nil {
		return blob, err
	}
	var kept media.Info
	err = b.Outbox.Kept(ctx, blob, func(r io.ReaderAt) (err error) {
		kept, err = classify(ref, blob.Head, r, blob.Size)
		return err
	})
	if err == nil {
		kept, err = dst.limits.Fit(dst.channel.Name(), kept)
	}
	if dst.asLink(kept, err) {
		err = nil
	}
	if err != nil || kept != checked {
		b.Outbox.Discard(blob)
		return outbox.Blob{}, outbox.ErrChanged
	}
	err = b.Outbox.Kept(ctx, blob, func(r io.ReaderAt) error { return dst.screened(r, blob.Size, append(names, kept.Name)...) })
	if err != nil {
		b.Outbox.Discard(blob)
		return outbox.Blob{Size: blob.Size, SHA256: blob.SHA256}, err
	}
	return blob, nil
}

func (b *Bridge) discard(d *records.Delivery) {
	for _, f := range d.AllFiles() {
		b.Outbox.Discard(outbox.Blob{Name: f.Blob})
	}
}
