package web

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
)

// arrivalEvery is how often a page hears of a file's progress.
const arrivalEvery = 100 * time.Millisecond

// Send puts m into the chat's history. The receipt's id is m.ID. The same id
// again returns the first receipt and changes nothing. Permanent are an
// unknown chat, what exceeds the limits, and bytes that are not those that
// were accepted.
func (w *Web) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	r, err := w.roomOf(m.Chat)
	if err != nil {
		return channel.Receipt{}, err
	}
	if !w.opened.Load() {
		return channel.Receipt{}, &channel.Error{Code: "not_connected", Message: "the chat page does not run yet"}
	}
	if err := channel.Check(w.Name(), m, w.opts.Limits); err != nil {
		return channel.Receipt{}, err
	}
	msg := &Message{
		ID: m.ID, From: w.now().AssistantName, Assistant: true,
		Text: cleanText(m.Text), ReplyTo: m.ReplyTo, Status: Sent,
	}
	var files []*staged
	if len(m.Files) > 0 {
		if there, err := w.receipt(ctx, r, m.ID); err != nil || there.ID != "" {
			return there, err
		}
		// Ended only when the message is there, so that pages show one or the
		// other all the time.
		defer w.hub.endArriving(r.name, m.ID)
		s, err := w.receiveBytes(ctx, r, m)
		if err != nil {
			return channel.Receipt{}, err
		}
		defer s.drop()
		files = append(files, s)
		msg.File, msg.bytes = w.describe(s, m.Files[0].Info), s.Bytes
	}
	fresh, err := w.appendAnswer(ctx, r, msg, files)
	switch {
	case err != nil:
		return channel.Receipt{}, err
	case fresh:
		return channel.Receipt{ID: m.ID, Time: msg.Time}, nil
	}
	there, err := w.receipt(ctx, r, m.ID)
	if err == nil && there.ID == "" {
		err = errors.New("write history: the message is not there")
	}
	return there, err
}

// receipt is empty where the message was never there. One that was deleted
// since was sent all the same.
func (w *Web) receipt(ctx context.Context, r *room, id string) (channel.Receipt, error) {
	seq, at, err := w.store.place(ctx, r.name, id)
	if err != nil || seq == 0 {
		return channel.Receipt{}, err
	}
	return channel.Receipt{ID: id, Time: at}, nil
}

func (w *Web) roomOf(jid groups.JID) (*room, error) {
	if name, ok := chatOf(jid); ok && w.now().known[name] != nil {
		return w.now().known[name], nil
	}
	return nil, &channel.Error{
		Class: channel.Permanent, Code: "unknown_chat",
		Message: fmt.Sprintf("the web channel has no chat %q", string(jid)),
		Hint:    "use the chat of a registered group",
	}
}

// receiveBytes copies the file of m to the disk and tells the pages meanwhile.
func (w *Web) receiveBytes(ctx context.Context, r *room, m channel.Message) (*staged, error) {
	file := &m.Files[0]
	if err := w.outgoingSpace(r, file.Size); err != nil {
		return nil, err
	}
	src, err := file.Open()
	if err != nil {
		return nil, fmt.Errorf("open accepted file: %w", err)
	}
	defer src.Close()

	a := arrival{ID: m.ID, Name: file.Name, MIME: file.MIME, Size: file.Size}
	w.hub.setArriving(r.name, a)
	told := time.Now()
	s, err := w.blobs.stage(ctx, src, file.Size, func(n int64) {
		if m.Progress != nil {
			m.Progress(n)
		}
		if now := time.Now(); now.Sub(told) >= arrivalEvery {
			told, a.Sent = now, n
			w.hub.setArriving(r.name, a)
		}
	})
	switch {
	case err != nil && !errors.Is(err, blob.ErrTooLarge):
		return nil, transfer.OrDiskFull(err, err)
	case err != nil || s.Size != file.Size || s.SHA256 != file.SHA256:
		s.drop()
		return nil, transfer.Changed(file.Name, err)
	}
	return s, nil
}

// outgoingSpace keeps an assistant from filling the disk of all groups.
func (w *Web) outgoingSpace(r *room, size int64) error {
	if err := w.chatSpace(r, size); err != nil {
		return err
	}
	if free, ok := w.blobs.free(); ok && free-size < w.now().KeepFree {
		return &channel.Error{Class: channel.Passing, Code: "disk_full", Message: "the host's disk is almost full", Hint: "free some disk space on the host"}
	}
	return nil
}

// quote looks up what a message answers; an unknown one is no error.
func (w *Web) quote(ctx context.Context, r *room, id string) (*Quote, error) {
	if id == "" {
		return nil, nil
	}
	m, err := w.store.byID(ctx, r.name, id)
	if m == nil || err != nil {
		return nil, err
	}
	return m.quote(), nil
}

// appendAnswer waits for its turn in the chat. What the message answers is
// looked up only then: the question itself may just be going in.
func (w *Web) appendAnswer(ctx context.Context, r *room, msg *Message, files []*staged) (fresh bool, err error) {
	if err := r.enter(ctx); err != nil {
		return false, err
	}
	defer r.leave()
	if msg.Quote, err = w.quote(ctx, r, msg.ReplyTo); err != nil {
		return false, err
	}
	return w.appendLocked(ctx, r, []*Message{msg}, files)
}

// appendLocked makes messages and their files durable and shows them, for
// whoever has entered the chat. From here on the caller's wish to stop no
// longer counts: half of it is done. It says whether they are new, see insert.
func (w *Web) appendLocked(ctx context.Context, r *room, msgs []*Message, files []*staged) (fresh bool, err error) {
	ctx = context.WithoutCancel(ctx)
	now := time.Now().UTC().Truncate(time.Millisecond)
	for _, m := range msgs {
		m.Time = now
	}
	if fresh, err = w.store.insert(ctx, r.name, msgs); err != nil || !fresh {
		return false, err
	}
	w.blobs.settle(r.name, files)
	w.hub.publish(r.name, msgs)
	w.rolls(r.name)
	return true, nil
}
