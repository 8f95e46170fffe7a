package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
	"github.com/longshore-bridge/longshore/media"
)

// accept turns a request into a delivery, has the policy judge it, and adds it to before,
// which is what was decided of the request's batch. An error is a refusal, which AsRefusal
// finds, or passes.
func (b *Bridge) accept(ctx context.Context, it *spool.Item, key string, before *acceptance, assistants Assistants) error {
	dst, err := b.authorize(it.Folder, it.Request)
	dst.noteIn(&it.Found)
	if err != nil {
		return err
	}
	b.Trace(it.Folder, it.ID, "authorized")
	bound, _ := dst.from.Bound()
	d := records.Delivery{
		Key: key, Folder: it.Folder, Request: it.ID, Bound: bound,
		Thread: dst.thread(it.Request), Channel: dst.channel.Name(), Chat: dst.chat, Asked: it.ModTime, Created: time.Now(),
		Batch: it.Request.Batch,
	}
	if err := b.answerable(ctx, it.Request, dst, assistants); err != nil {
		return err
	}
	_, changes := verbs[it.Request.Type]
	switch {
	case changes:
		d.Parts, d.Thread, err = b.acts(ctx, it, dst, before, assistants)
	case it.Request.Type == ipc.TypeAsk:
		d.Parts, err = b.question(ctx, it.Folder, it.Request, dst, before.load.Questions)
	default: // parts asks for room itself, before each file is copied
		d.Parts, err = b.parts(ctx, origin{it.Folder, it.ID, b.Mounted(it.Folder), &it.Found}, it.Request, dst, before.load)
	}
	if err == nil && (changes || it.Request.Type == ipc.TypeAsk) {
		err = b.Outbox.Room(it.Folder, before.load, outbox.Load{Parts: len(d.Parts)})
	}
	if err != nil {
		return err
	}
	b.setThread(&d, it, assistants)
	j, err := b.judge(ctx, dst, d, before.load)
	if err != nil {
		b.discard(&d)
		return err
	}
	before.add(it, j)
	return nil
}

// parts returns the messages of a request, in order. If it refuses the request, it
// discards the files that it has copied.
func (b *Bridge) parts(ctx context.Context, o origin, r ipc.Request, dst destination, ahead outbox.Load) ([]records.Part, error) {
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
		var link []records.Part
		if err == nil && linked {
			link, err = b.link(file, ref.Caption, dst)
		}
		if err != nil {
			b.discard(&records.Delivery{Parts: parts})
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

// refuseAll turns the error of the file at position bad into the refusal of its whole
// request, which names the fault of each file: a request is sent whole or not at all.
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
