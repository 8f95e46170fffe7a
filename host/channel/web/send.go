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
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/host/state"
)

// arrivalEvery is the interval at which a page gets a file's progress.
const arrivalEvery = 100 * time.Millisecond

// Send adds m to the chat's history. The receipt's id is m.ID. A repeated id returns the
// first receipt and changes nothing. Permanent errors: an unknown chat, a message beyond
// the limits, and bytes that differ from those that were accepted.
func (w *Web) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	out := w.SendAll(ctx, []channel.Message{m})[0]
	return out.Receipt, out.Err
}

var _ channel.StateSender = (*Web)(nil)

// answer is a message of the assistant on its way into the history.
type answer struct {
	*history.Message
	file  *history.Staged // nil: no file, or the message exists
	there bool            // it is in the history, or was
	err   error
}

// SendAll is Send for several messages, in one commit.
func (w *Web) SendAll(ctx context.Context, ms []channel.Message) []channel.Outcome {
	return w.SendRecorded(ctx, ms, noRecord{})
}

// noRecord is the record of messages whose caller writes none.
type noRecord struct{}

func (noRecord) Record(*state.Tx, []channel.Outcome) error { return nil }
func (noRecord) Recorded()                                 {}

// SendRecorded implements channel.StateSender.
func (w *Web) SendRecorded(ctx context.Context, ms []channel.Message, rec channel.Recorder) []channel.Outcome {
	r, err := w.roomOf(ms[0].Chat)
	if err == nil && !w.opened.Load() {
		err = w.errNotOpen()
	}
	if err != nil {
		return []channel.Outcome{{Err: err}}
	}
	var all []*answer
	staged := int64(0)
	for i := range ms {
		a := w.compose(ctx, r, &ms[i], staged)
		if all = append(all, a); a.file != nil {
			staged += a.file.Size
			// It ends only when the message is shown, so that pages always show one or the
			// other.
			defer w.hub.endArriving(r.name, a.ID)
			defer a.file.Drop()
		}
		if (channel.Outcome{Err: a.err}).Last() {
			break
		}
	}
	err = w.append(ctx, r, all, rec)
	return outcomes(all, err)
}

// outcomes returns what became of answers that were to be made durable, with the error of that.
func outcomes(all []*answer, err error) (outs []channel.Outcome) {
	for _, a := range all {
		if a.err == nil && !a.there && err != nil {
			return append(outs, channel.Outcome{Err: err})
		}
		out := channel.Outcome{Err: a.err}
		if a.err == nil {
			out.Receipt = channel.Receipt{ID: a.ID, Time: a.Time}
		}
		outs = append(outs, out)
	}
	return outs
}

// compose makes the answer and copies its file. staged is the bytes of the files that are
// sent with it.
func (w *Web) compose(ctx context.Context, r *room, m *channel.Message, staged int64) *answer {
	a := &answer{Message: &history.Message{
		ID: m.ID, From: w.now().AssistantName, Assistant: true,
		Text: cleanText(m.Text), ReplyTo: m.ReplyTo, Status: history.Sent,
	}}
	a.Shown = history.Show(a.Text)
	if a.err = channel.Check(w.Name(), *m, w.limits); a.err == nil && m.Poll != nil {
		a.Poll, a.err = newPoll(m.Poll, w.limits.Poll)
	}
	if a.err != nil || len(m.Files) == 0 {
		return a
	}
	small := m.Files[0].Size <= blob.Small // to copy it costs less than to ask, and the insert finds out
	if !small && w.known(ctx, r, a) {
		return a
	}
	if a.file, a.err = w.receiveBytes(ctx, r, m, staged); a.err == nil {
		a.File, a.Bytes = a.file.Describe(m.Files[0].Info), a.file.Bytes
	} else if small {
		w.known(ctx, r, a) // the chat may have no room for it twice
	}
	return a
}

// known notes in an answer whether the chat has its id, or had it.
func (w *Web) known(ctx context.Context, r *room, a *answer) bool {
	seq, at, err := w.store.SeqOf(ctx, r.name, a.ID)
	if err == nil && seq == 0 {
		return false
	}
	a.there, a.Time, a.err = true, at, err
	return true
}

// append makes answers durable, together with their record, and shows the new ones.
func (w *Web) append(ctx context.Context, r *room, all []*answer, rec channel.Recorder) error {
	var msgs []*history.Message
	var files []*history.Staged
	for _, a := range all {
		if a.err == nil && !a.there {
			msgs, files = append(msgs, a.Message), append(files, a.file)
		}
	}
	if len(msgs) == 0 {
		return nil
	}
	if err := w.files.Publish(ctx, files); err != nil {
		return err
	}
	leave, err := w.entered.Enter(ctx, r.name)
	if err != nil {
		return err
	}
	defer leave()
	record := func(t *state.Tx) error { return rec.Record(t, outcomes(all, nil)) }
	if err := w.store.Answer(context.WithoutCancel(ctx), r.name, msgs, record, rec.Recorded); err != nil {
		history.LeaveDoubtful(err, files)
		return err
	}
	var fresh []*history.Message
	files = nil
	for _, a := range all {
		if a.Seq == 0 {
			continue
		}
		if fresh = append(fresh, a.Message); a.file != nil {
			files = append(files, a.file)
		}
	}
	w.show(r, fresh, files)
	w.notify(r, fresh)
	return nil
}

// notify tells browsers without an open page of the newest of a chat's messages.
func (w *Web) notify(r *room, ms []*history.Message) {
	if len(ms) == 0 {
		return
	}
	m := ms[len(ms)-1]
	w.push.Notify(r.name, cleanName(r.Name, r.name), m.From, m.AsQuote().Text)
}

// show shows durable messages. The caller has entered the chat.
func (w *Web) show(r *room, msgs []*history.Message, files []*history.Staged) {
	if len(msgs) == 0 {
		return
	}
	w.files.Commit(r.name, files)
	for _, m := range msgs {
		w.hub.publish(r.name, m)
	}
	w.rolls(r.name, msgs)
}

func (w *Web) errNotOpen() error {
	if err := w.link.Held(); err != nil {
		return err
	}
	return &channel.Error{Code: "not_connected", Message: "the chat page does not run"}
}

func (w *Web) roomOf(jid groups.JID) (*room, error) {
	if name, ok := history.ChatOf(jid); ok && w.now().known[name] != nil {
		return w.now().known[name], nil
	}
	return nil, &channel.Error{
		Class: channel.Permanent, Code: "unknown_chat",
		Message: fmt.Sprintf("the web channel has no chat %q", string(jid)),
		Hint:    "use the chat of a registered group",
	}
}

// receiveBytes copies the file of m to the disk and reports its progress to the pages.
func (w *Web) receiveBytes(ctx context.Context, r *room, m *channel.Message, ahead int64) (*history.Staged, error) {
	file := &m.Files[0]
	if err := w.outgoingSpace(r, ahead, file.Size); err != nil {
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
	s, err := w.files.Stage(ctx, src, file.Size, func(n int64) {
		m.Progress(n)
		if now := time.Now(); now.Sub(told) >= arrivalEvery {
			told, a.Sent = now, n
			w.hub.setArriving(r.name, a)
		}
	})
	switch {
	case err != nil && !errors.Is(err, blob.ErrTooLarge):
		return nil, transfer.OrDiskFull(err, err)
	case err != nil || s.Size != file.Size || s.SHA256 != file.SHA256:
		s.Drop()
		return nil, transfer.Changed(file.Name, err)
	}
	return s, nil
}

// outgoingSpace refuses a file that would fill the disk of all groups.
func (w *Web) outgoingSpace(r *room, ahead, size int64) error {
	if err := w.chatSpace(r, ahead, size); err != nil {
		return err
	}
	if free, ok := w.files.Free(); ok && free-size < w.now().KeepFree {
		return &channel.Error{Class: channel.Passing, Code: "disk_full", Message: "the host's disk is almost full", Hint: "free some disk space on the host"}
	}
	return nil
}
