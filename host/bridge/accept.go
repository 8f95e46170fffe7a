package bridge

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/screen"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
	"github.com/longshore-bridge/longshore/media"
)

// accept makes a delivery of a request, which the policy has seen. before is what was
// decided of the request's batch. An error is a refusal, which AsRefusal finds, or passes.
func (b *Bridge) accept(ctx context.Context, it *spool.Item, key string, before *acceptance, assistants Assistants) (judged, error) {
	dst, err := b.authorize(it.Folder, it.Request)
	dst.heads(&it.Found)
	if err == nil {
		err = b.Lost()
	}
	if err != nil {
		return judged{}, err
	}
	b.Trace(it.Folder, it.ID, "authorized")
	bound, _ := dst.from.Bound()
	d := outbox.Delivery{
		Key: key, Folder: it.Folder, Request: it.ID, Bound: bound,
		Thread: dst.thread(it.Request), Channel: dst.channel.Name(), Chat: dst.chat, Asked: it.ModTime, Created: time.Now(),
		Batch: it.Request.Batch,
	}
	if err := b.answerable(ctx, it.Request, dst, assistants); err != nil {
		return judged{}, err
	}
	_, changes := verbs[it.Request.Type]
	switch {
	case changes:
		d.Parts, d.Thread, err = b.acts(ctx, it, dst, before, assistants)
	case it.Request.Type == ipc.TypeAsk:
		d.Parts, err = b.question(it.Folder, it.Request, dst, before.load.Questions)
	default: // which asks for room itself, before each file is copied
		d.Parts, err = b.parts(ctx, origin{it.Folder, it.ID, b.Mounted(it.Folder), &it.Found}, it.Request, dst, before.load)
	}
	if err == nil && (changes || it.Request.Type == ipc.TypeAsk) {
		err = b.Outbox.Room(it.Folder, before.load, outbox.Load{Parts: len(d.Parts)})
	}
	if err != nil {
		return judged{}, err
	}
	b.place(&d, it, assistants)
	j, err := b.judge(ctx, dst, d, before.load)
	if err != nil {
		b.discard(d)
	}
	return j, err
}

// destination is a chat that the source may send to, with what its channel takes.
type destination struct {
	chat    groups.JID
	channel channel.Channel // that carries it
	limits  media.Limits
	from    groups.Asker   // who asks
	source  groups.Group   // whose policy and limits hold
	links   *Links         // nil: none are offered
	screen  *screen.Screen // nil: every file may leave
	asks    *screen.Screen // which files wait for an approval; nil: none do
	asked   *string        // the rule of asks that hit a file, if one did
	now     time.Time      // in the source's time zone; zero if its policy has no hours
}

func (d *destination) address() groups.Address {
	return groups.Address{Channel: d.channel.Name(), JID: d.chat}
}

// foreign says whether it is not the source's own chat.
func (d *destination) foreign() bool { return d.address() != d.source.Address() }

// thread is where a request goes in the chat: one conversation speaks in its own thread only.
func (d *destination) thread(r ipc.Request) string {
	if thread, bound := d.from.Bound(); bound && !d.foreign() {
		return thread
	}
	return r.Thread
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
	registry := b.Registry()
	authorize := registry.Authorize
	if r.Type.IsCall() {
		authorize = registry.AuthorizeCall
	}
	chat, err := authorize(folder, r.Chat)
	if err != nil {
		return destination{}, err
	}
	source, _ := registry.ByFolder(folder) // the registry knows it: it has authorized it
	if c := channel.Named(b.Channels, chat.Channel); c != nil {
		dst := destination{chat: chat.JID, channel: c, limits: c.Limits().Tighten(source.Limits), links: b.links(),
			from: registry.Asker(folder, r.Conversation), source: source, asked: new(string)}
		if source.MaySend.Hours != "" {
			dst.now = b.now(folder)
		}
		if b.Screen != nil {
			dst.screen, dst.asks = b.Screen()
		}
		return dst, nil
	}
	return destination{chat: chat.JID}, &ipc.Refusal{
		Code:    "channel_unsupported",
		Message: fmt.Sprintf("no channel of this host carries %q", string(chat.JID)),
		Hint:    "ask the operator to configure the chat's channel",
	}
}

// origin is where a request comes from.
type origin struct {
	folder  string // of the group
	request string // its id; empty: it did not come through the queue
	open    Opener
	found   *spool.Found
}

// parts makes the messages of a request, in order. What was copied for a
// request that is refused in the end is discarded.
func (b *Bridge) parts(ctx context.Context, o origin, r ipc.Request, dst destination, ahead outbox.Load) ([]outbox.Part, error) {
	parts := texts(r.Text, dst.limits)
	more := outbox.Load{Parts: len(parts)}
	room := func(size int64, linked bool) error {
		more.Parts++
		if linked {
			before := ahead.Links + more.Links
			more.Links += size
			return cmp.Or(b.Outbox.Room(o.folder, ahead, more), b.roomForLink(ctx, o.folder, before, size, dst.links))
		}
		more.Bytes += size
		return b.Outbox.Room(o.folder, ahead, more)
	}
	for i, ref := range r.Files {
		o.found.Files = append(o.found.Files, ipc.Outcome{})
		file, linked, err := b.file(ctx, o, ref, dst, room)
		var link []outbox.Part
		if err == nil && linked {
			link, err = b.link(file, ref.Caption, dst)
		}
		if err != nil {
			b.discard(outbox.Delivery{Parts: parts})
			return nil, refuseAll(o.open, r.Files, i, dst, err)
		}
		if linked {
			parts = append(parts, link...)
			continue
		}
		parts = attach(parts, file, ref.Caption, dst.limits)
	}
	if len(r.Files) == 0 {
		if err := b.Outbox.Room(o.folder, ahead, more); err != nil {
			return nil, err
		}
	}
	if len(parts) > 0 {
		parts[0].ReplyTo = r.ReplyTo
	}
	return parts, nil
}

// copies is how often a file that changes while it is copied is tried before
// it is refused.
const copies = 3

// copyPause lies between two tries.
const copyPause = 20 * time.Millisecond

// file opens, checks and copies one file, or what it was converted into. The
// descriptor that was checked is the one that is copied. Room is asked before the
// first byte is. linked says that the file is too large for the chat and goes as a link.
func (b *Bridge) file(ctx context.Context, o origin, ref ipc.FileRef, dst destination, room func(size int64, linked bool) error) (_ outbox.File, linked bool, _ error) {
	f, err := o.open(ref.Path)
	if err != nil {
		return outbox.File{}, false, err
	}
	defer f.Close()
	b.Trace(o.folder, o.request, "opened")
	if err := dst.screenSource(o.open, ref); err != nil {
		return outbox.File{}, false, err
	}
	out, err := b.shown(ctx, f.File, ref, dst)
	if err != nil {
		return outbox.File{}, false, err
	}
	defer func() { _ = out.close() }() // which only gives room back
	names := namesOf(f.Names, ref)
	for try := range copies {
		info, err := dst.check(out.file, out.ref)
		linked, tooLarge := dst.asLink(info, err), err
		o.measured(info)
		if err != nil && !linked {
			return outbox.File{}, false, err
		}
		if err := dst.permit(info); err != nil {
			return outbox.File{}, false, err
		}
		b.Trace(o.folder, o.request, "checked")
		if try == 0 {
			if err := room(info.Size, linked); err != nil {
				return outbox.File{}, false, err
			}
		}
		blob, err := b.copy(ctx, out.file, info, out.ref, dst, names...)
		if blob.SHA256 != "" {
			o.copied(blob)
		}
		if err == nil {
			info.Note = strings.Trim(out.note+"; "+info.Note, "; ")
			if linked {
				info.Note = linkNote(info.Note, tooLarge)
			}
			b.Trace(o.folder, o.request, "copied")
			return outbox.File{Info: info, SHA256: blob.SHA256, Blob: blob.Name, Bytes: blob.Bytes, Names: names}, linked, nil
		}
		if !errors.Is(err, outbox.ErrChanged) {
			return outbox.File{}, false, fmt.Errorf("copy %q: %w", ref.Path, err)
		}
		select { // a program that has just written the file may be about to close it
		case <-ctx.Done():
			return outbox.File{}, false, ctx.Err()
		case <-time.After(copyPause):
		}
	}
	return outbox.File{}, false, &ipc.Refusal{
		Code:    "file_changing",
		Message: fmt.Sprintf("%q changes while it is read", path.Base(ref.Path)),
		Hint:    "finish writing the file and close it, then send it; of a file that a program keeps writing, send a copy",
	}
}

// check says what an open file is and as what the channel takes it.
func (d destination) check(f *os.File, ref ipc.FileRef) (media.Info, error) {
	info, err := d.examine(f, ref)
	if err != nil {
		return media.Info{}, err
	}
	return d.limits.Fit(d.channel.Name(), info)
}

// examine says what an open file is. It reads the file's head, and the description of a film's tracks.
func (d destination) examine(f *os.File, ref ipc.FileRef) (media.Info, error) {
	stat, err := f.Stat()
	if err != nil {
		return media.Info{}, fmt.Errorf("stat: %w", err)
	}
	head := make([]byte, min(stat.Size(), media.HeadSize))
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return media.Info{}, fmt.Errorf("read head: %w", err)
	}
	return classify(ref, head[:n], f, stat.Size())
}

// copy keeps the file if the copy is what the check said: a file that was
// exchanged between the two is whole in the copy and passed for another kind
// in the check. The copy is what is screened, under the names that the file has; of one
// that is refused, size and hash are returned beside the error.
func (b *Bridge) copy(ctx context.Context, f *os.File, checked media.Info, ref ipc.FileRef, dst destination, names ...string) (outbox.Blob, error) {
	blob, err := b.Outbox.CopyFile(ctx, f, checked.Size)
	if err != nil {
		return blob, err
	}
	var kept media.Info
	err = b.Outbox.Kept(blob, func(r io.ReaderAt) (err error) {
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
	err = b.Outbox.Kept(blob, func(r io.ReaderAt) error { return dst.screened(r, blob.Size, append(names, kept.Name)...) })
	if err != nil {
		b.Outbox.Discard(blob)
		return outbox.Blob{Size: blob.Size, SHA256: blob.SHA256}, err
	}
	return blob, nil
}

// screened refuses a secret, and notes the first rule because of which a person is asked.
func (d destination) screened(r io.ReaderAt, size int64, names ...string) error {
	if err := d.screen.Check(r, size, names...); err != nil || *d.asked != "" {
		return err
	}
	rule, err := d.asks.Hit(r, size, names...)
	*d.asked = rule
	return err
}

// screenSource screens the text that a file was printed from: the print itself holds
// pictures of letters.
func (d destination) screenSource(open Opener, ref ipc.FileRef) error {
	if ref.Source == "" {
		return nil
	}
	f, err := open(ref.Source)
	if err != nil {
		return err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return fmt.Errorf("stat: %w", err)
	}
	return d.screened(f, stat.Size(), append(f.Names, namesOf(nil, ref)...)...)
}

func (b *Bridge) discard(d outbox.Delivery) {
	for _, p := range d.Parts {
		for _, f := range p.Files {
			b.Outbox.Discard(outbox.Blob{Name: f.Blob})
		}
		if p.Link != nil {
			b.Outbox.Discard(outbox.Blob{Name: p.Link.File.Blob})
		}
	}
}

// refuseAll turns the error of the file at position bad into the refusal of
// its whole request, which says of each file what is wrong with it: nothing of
// a request is sent when one of its files cannot be.
func refuseAll(open Opener, files []ipc.FileRef, bad int, dst destination, err error) error {
	why := AsRefusal(err)
	var full *outbox.FullError
	if len(files) == 1 || why == nil || errors.As(err, &full) {
		return err
	}
	all := *why
	all.Message = fmt.Sprintf("file %d of %d: %s; nothing was sent", bad+1, len(files), why.Message)
	for i, ref := range files {
		out := ipc.Outcome{
			Name: media.SafeName(path.Base(ref.Path)), Status: ipc.Refused, Code: "not_sent_with_others",
			Message: "nothing is wrong with this file", Hint: "send it again without the others, or with them once they are mended",
		}
		if i >= bad {
			_, err := dst.look(open, ref)
			if r := AsRefusal(err); r != nil {
				out.Code, out.Message, out.Hint = r.Code, r.Message, r.Hint
			}
		}
		all.Parts = append(all.Parts, out)
	}
	return &all
}

func keysOf(batch *spool.Batch) []string {
	keys := make([]string, len(batch.Items))
	for i, it := range batch.Items {
		keys[i] = keyOf(it)
	}
	return keys
}

// keyOf names a request for good: the same file seen again after a crash has
// the same key, a new request under an old name has another.
func keyOf(it *spool.Item) string {
	h := sha256.New()
	for _, s := range []string{it.Folder, it.Name, strconv.FormatInt(it.ModTime.UnixNano(), 10)} {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	h.Write(it.Body)
	return hex.EncodeToString(h.Sum(nil))[:32]
}
