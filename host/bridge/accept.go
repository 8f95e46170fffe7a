package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// destination is a chat that the source may send to, with what its channel takes.
type destination struct {
	chat    groups.JID
	channel channel.Channel
	limits  media.Limits
}

// authorize turns the claimed chat into a destination. The source is known by
// its folder alone; what the request says of it must agree.
func (b *Bridge) authorize(folder string, r ipc.Request) (destination, error) {
	if r.Folder != "" && r.Folder != folder {
		return destination{}, &ipc.Refusal{
			Code:    "wrong_group",
			Message: "the request names another group's folder as its own",
			Hint:    "leave groupFolder out, or give your own group's folder",
		}
	}
	source, ok := b.Registry.ByFolder(folder)
	if !ok {
		return destination{}, fmt.Errorf("authorize: folder %q belongs to no group", folder)
	}
	chat, err := b.Registry.Authorize(folder, r.Chat)
	if err != nil {
		return destination{}, err
	}
	for _, c := range b.Channels {
		if c.Owns(chat) {
			return destination{chat: chat, channel: c, limits: c.Limits().Tighten(source.Limits)}, nil
		}
	}
	return destination{}, &ipc.Refusal{
		Code:    "channel_unsupported",
		Message: fmt.Sprintf("no channel of this host carries %q", string(chat)),
		Hint:    "ask the operator to configure the chat's channel",
	}
}

// parts makes the messages of a request, in order. What was copied for a
// request that is refused in the end is discarded.
func (b *Bridge) parts(ctx context.Context, folder, request string, r ipc.Request, dst destination, ahead outbox.Load) ([]outbox.Part, error) {
	parts := texts(r.Text, dst.limits.Text)
	more := outbox.Load{Parts: len(parts)}
	room := func(size int64) error {
		more.Parts++
		more.Bytes += size
		return b.Outbox.Room(folder, ahead, more)
	}
	for i, ref := range r.Files {
		file, err := b.file(ctx, folder, request, ref, dst, room)
		if err != nil {
			b.discard(outbox.Delivery{Parts: parts})
			return nil, b.refuseAll(folder, r.Files, i, dst, err)
		}
		parts = append(parts, withCaption(file, ref.Caption, dst.limits)...)
	}
	if len(r.Files) == 0 {
		if err := b.Outbox.Room(folder, ahead, more); err != nil {
			return nil, err
		}
	}
	if len(parts) > 0 {
		parts[0].ReplyTo = r.ReplyTo
	}
	return parts, nil
}

// refuseAll turns the error of the file at position bad into the refusal of
// its whole request, which says of each file what is wrong with it: nothing of
// a request is sent when one of its files cannot be.
func (b *Bridge) refuseAll(folder string, files []ipc.FileRef, bad int, dst destination, err error) error {
	why := AsRefusal(err)
	var full *outbox.FullError
	if len(files) == 1 || why == nil || errors.As(err, &full) {
		return err
	}
	all := *why
	all.Message = fmt.Sprintf("file %d of %d: %s; nothing was sent", bad+1, len(files), why.Message)
	for i, ref := range files {
		o := ipc.Outcome{
			Name: media.SafeName(path.Base(ref.Path)), Status: ipc.Refused, Code: "not_sent_with_others",
			Message: "nothing is wrong with this file", Hint: "send it again without the others, or with them once they are mended",
		}
		if i >= bad {
			if r := AsRefusal(b.look(folder, ref, dst)); r != nil {
				o.Code, o.Message, o.Hint = r.Code, r.Message, r.Hint
			}
		}
		all.Parts = append(all.Parts, o)
	}
	return &all
}

// look is what file does, without the copy.
func (b *Bridge) look(folder string, ref ipc.FileRef, dst destination) error {
	f, err := b.Mounts[folder].Open(ref.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := inspect(f.File, ref)
	if err == nil {
		_, err = dst.limits.Fit(dst.channel.Name(), info)
	}
	return err
}

// copies is how often a file that changes while it is copied is tried before
// it is refused.
const copies = 3

// file opens, checks and copies one file. The descriptor that was checked is
// the one that is copied.
func (b *Bridge) file(ctx context.Context, folder, request string, ref ipc.FileRef, dst destination, room func(int64) error) (outbox.File, error) {
	f, err := b.Mounts[folder].Open(ref.Path)
	if err != nil {
		return outbox.File{}, err
	}
	defer f.Close()
	b.Trace(folder, request, "opened")
	return b.take(ctx, folder, request, f.File, ref, dst, room)
}

// take checks and copies an open file.
func (b *Bridge) take(ctx context.Context, folder, request string, f *os.File, ref ipc.FileRef, dst destination, room func(int64) error) (outbox.File, error) {
	for try := 1; ; try++ {
		info, err := inspect(f, ref)
		if err != nil {
			return outbox.File{}, err
		}
		fitted, err := dst.limits.Fit(dst.channel.Name(), info)
		if err != nil {
			return outbox.File{}, err
		}
		b.Trace(folder, request, "checked")
		if try == 1 {
			if err := room(info.Size); err != nil {
				return outbox.File{}, err
			}
		}
		blob, err := b.Outbox.CopyFile(ctx, f, info.Size)
		if err == nil && !sameAs(info, blob, ref) {
			b.Outbox.Discard(blob)
			err = outbox.ErrChanged
		}
		if err == nil {
			b.Trace(folder, request, "copied")
			return outbox.File{Info: fitted, SHA256: blob.SHA256, Blob: blob.Name}, nil
		}
		if !errors.Is(err, outbox.ErrChanged) {
			return outbox.File{}, fmt.Errorf("copy %q: %w", ref.Path, err)
		}
		if try == copies {
			return outbox.File{}, &ipc.Refusal{
				Code:    "file_changing",
				Message: fmt.Sprintf("%q changes while it is read", path.Base(ref.Path)),
				Hint:    "finish writing the file, then send it",
			}
		}
	}
}

// inspect says what an open file is. It reads the file's head and no more.
func inspect(f *os.File, ref ipc.FileRef) (media.Info, error) {
	stat, err := f.Stat()
	if err != nil {
		return media.Info{}, fmt.Errorf("stat: %w", err)
	}
	head := make([]byte, min(stat.Size(), media.HeadSize))
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return media.Info{}, fmt.Errorf("read head: %w", err)
	}
	return classify(ref, head[:n], stat.Size())
}

// sameAs says whether the copy is what the look at the file said. A file that
// was exchanged between the two is whole in the copy and passes for another
// kind in the look.
func sameAs(info media.Info, blob outbox.Blob, ref ipc.FileRef) bool {
	kept, err := classify(ref, blob.Head, blob.Size)
	return err == nil && kept == info
}

func classify(ref ipc.FileRef, head []byte, size int64) (media.Info, error) {
	name := ref.Name
	if name == "" {
		name = path.Base(ref.Path)
	}
	return media.Classify(name, ref.MIME, head, size, media.Style(ref.As))
}
