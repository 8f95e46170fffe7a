package outbox

import (
	"bytes"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
)

// attempt is one attempt at the first part of a lane. mu guards the fields after sent. The
// other fields are set once, in choose or follow, and belong to the attempt.
//
// A part exists three times meanwhile. it.Parts[pos], which mu guards, is what
// everybody else sees. attempt.part is a copy for the attempt alone, without mu, until
// conclude. outcome.part is what is to be recorded: conclude makes it it.Parts[pos] if
// the part stays open, recorded does if it has ended. Who writes what meanwhile:
//
//	it.Parts[pos].Sent, Shown     watch, Report: outcomes take Shown over
//	it.Parts[pos].Doubt           begin, for its mark: a late outcome takes it over
//	it.Parts[pos].State, Attempts begin, follow, to be seen: outcomes do not take them over
//	it.Parts[pos].Next            whoever ends a wait early
//	Saved                         save, in the record, then in both copies: an outcome
//	                              only forgets it
//	all else                      the attempt, in its own copy
type attempt struct {
	ln        *lane
	it        *item
	pos       int
	part      records.Part // a copy, which the attempt brings up to date
	due       time.Time    // when the delivery is given up
	recovered bool         // the process before may have sent the part
	rate      *rate.Limiter

	sent    atomic.Int64 // bytes
	seen    int64        // sent, as it was at the last look
	moved   time.Time    // when sent last changed
	stalled bool         // no longer counts against Parallel
}

// serve makes one attempt of a lane and returns the lane to the dispatcher. It has three
// steps: choose the part, under mu; send it, without mu; conclude, under mu.
func (o *Outbox) serve(ctx context.Context, a *attempt) {
	defer o.poke()
	if !o.choose(a) {
		return
	}
	outs := o.try(ctx, a)
	out := outs[len(outs)-1]
	if out.held {
		o.startHold(a.ln.line)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, out := range outs {
		if !out.recorded {
			o.conclude(out)
		}
	}
	// Load the next deliveries here, so that the lane joins its group's backlog. An error
	// shows at the lane's next attempt.
	_ = o.load(a.ln)
	o.leave(a)
	if out.part.State.Open() && !out.held && !out.stop && out.lower == nil {
		if len(outs) == 1 || !outs[len(outs)-2].part.State.Open() { // else memory knows more than the disk
			o.trim(a.ln)
		}
		o.wait(a.ln, out.part.Next, true)
	} else {
		o.schedule(a.ln)
	}
}

// choose selects the part to send. It returns false if no part can be sent now; the lane
// then belongs to the dispatcher again.
func (o *Outbox) choose(a *attempt) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	ln := a.ln
	if err := o.load(ln); err != nil {
		o.opts.Log.Error("read the outbox", "chat", ln.key.JID, "channel", ln.key.Channel, "error", err)
		o.leave(a)
		o.wait(ln, time.Now().Add(o.limits().Backoff.Initial), true)
		return false
	}
	if len(ln.heads) == 0 || ln.blocked > 0 || ln.awaitsRecord() { // who blocked it schedules it again, or recorded
		o.leave(a)
		return false
	}
	it, now := ln.heads[0], time.Now()
	if next := it.Parts[it.pos].Next; next.After(now) { // the process before wanted to wait
		o.leave(a)
		o.wait(ln, next, true)
		return false
	}
	a.it, a.pos, a.part = it, it.pos, it.Parts[it.pos]
	a.due, a.recovered = o.deadline(it, now), ln.recovered > 0
	return true
}

// leave ends the lane's time in flight. The caller holds mu and decides the lane's next
// state.
func (o *Outbox) leave(a *attempt) {
	heap.Remove(&o.waits, a.ln.index)
	if !a.stalled {
		a.ln.line.busy--
	}
	a.ln.state, a.ln.attempt = idle, nil
}

// try makes the attempt, together with the attempts at the parts that may go in the same
// call. A part in doubt is resolved before it is sent again.
func (o *Outbox) try(ctx context.Context, a *attempt) []outcome {
	ch := a.ln.line.channel()
	if ch == nil {
		return []outcome{o.later(a, &channel.Error{Code: codeNoChannel, Message: "the channel is not configured"})}
	}
	if s, down := ch.(channel.StandIn); down {
		a.part.Attempts++
		return []outcome{o.later(a, s.Held())}
	}
	if a.part.State == records.Pending {
		return []outcome{o.await(ctx, ch, a)}
	}
	if !a.part.Doubt.IsZero() {
		if out, ended := o.resolve(ctx, ch, a); ended {
			return []outcome{out}
		}
	}
	// On a channel that knows ids for ever, a part has no mark if the earlier process died
	// before it recorded the outcome. Such a part gets its attempt at any age.
	marks := ch.Repeat().Keyed != channel.Forever && a.part.Act == nil // a change may be made twice
	start := time.Now()
	if !start.Before(a.due) && (marks || !a.recovered) {
		return []outcome{o.expired(a)}
	}
	if out, ended := o.aim(ctx, a); ended {
		return []outcome{out}
	}
	if err := o.prepare(ctx, ch, a); err != nil {
		return []outcome{o.unprepared(ctx, ch, a, err)}
	}
	if err := o.begin(a, time.Now(), marks && a.part.Doubt.IsZero()); err != nil {
		return []outcome{o.later(a, err)}
	}
	if many, can := ch.(channel.MultiSender); can && !marks && a.part.Act == nil {
		_, records := ch.(channel.StateSender)
		if all := o.follow(a, start); len(all) > 1 || records {
			return o.sendAll(ctx, many, all, start)
		}
	}
	if a.part.Act != nil {
		return []outcome{o.answered(ctx, ch, a, start, channel.Receipt{}, o.act(ctx, ch, a))}
	}
	receipt, err := o.send(ctx, ch, a)
	return []outcome{o.answered(ctx, ch, a, start, receipt, err)}
}

// answered makes an outcome of the answer to an attempt that began at start.
func (o *Outbox) answered(ctx context.Context, ch channel.Channel, a *attempt, start time.Time, receipt channel.Receipt, err error) outcome {
	switch {
	case err == nil:
		return o.acknowledged(a, receipt)
	case channel.ClassOf(err) == channel.Permanent:
		return o.refused(ch, a, err)
	case ctx.Err() == nil:
	case channel.ClassOf(err) == channel.Ambiguous:
		return outcome{attempt: a, stop: true}
	default: // the host ends, and the platform did not take it: the mark goes
		out := o.later(a, err)
		out.held = false // for the next host to find out
		return out
	}
	if channel.ClassOf(err) == channel.Ambiguous && a.part.Doubt.IsZero() && a.part.Act == nil {
		a.part.Doubt = start
	}
	if lostTrack(ch, a.part) {
		return o.unknown(a, err)
	}
	return o.later(a, err)
}

// resolve finds out whether the platform has a part in doubt, before the part is sent
// again. ended is false if the part may be sent: the platform does not have it, or shows
// the same id once.
func (o *Outbox) resolve(ctx context.Context, ch channel.Channel, a *attempt) (out outcome, ended bool) {
	finder, finds := ch.(channel.Finder)
	if !finds {
		if lostTrack(ch, a.part) {
			return o.unknown(a, nil), true
		}
		return out, false
	}
	receipt, err := o.find(ctx, finder, a)
	switch {
	case err == nil && receipt == nil:
		a.part.Doubt, a.part.Code = time.Time{}, ""
		return out, false
	case err == nil:
		return o.acknowledged(a, *receipt), true
	case ctx.Err() != nil:
		return outcome{attempt: a, stop: true}, true
	case channel.ClassOf(err) == channel.Permanent:
		return o.unknown(a, err), true
	}
	a.part.Attempts++
	return o.later(a, err), true
}

// save records what the channel needs at the part's next attempt.
func (o *Outbox) save(ctx context.Context, a *attempt, saved []byte) error {
	if len(saved) > channel.MaxState {
		return fmt.Errorf("save the state of a message: it has %d bytes, at most %d are kept", len(saved), channel.MaxState)
	}
	saved = bytes.Clone(saved)
	err := o.state.Do(ctx, func(t *state.Tx) error {
		return records.SaveState(t, a.it.ID, a.pos, saved)
	}, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		a.it.Parts[a.pos].Saved = saved
	})
	if err != nil {
		return fmt.Errorf("save the state of a message: %w", store.Words(err))
	}
	a.part.Saved = saved
	return nil
}

// lostTrack reports whether a part is in doubt and nobody can be asked about it any more:
// another Send might show it twice.
func lostTrack(ch channel.Channel, p records.Part) bool {
	_, finds := ch.(channel.Finder)
	return !finds && !p.Doubt.IsZero() && !ch.Repeat().Knows(time.Since(p.Doubt))
}

// begin counts the attempt. With mark, begin first records that the platform may have the
// part from now on. If begin cannot record the mark, the attempt must not be made.
func (o *Outbox) begin(a *attempt, now time.Time, mark bool) error {
	doubt := func(since time.Time) {
		o.mu.Lock()
		defer o.mu.Unlock()
		a.it.Parts[a.pos].Doubt = since
	}
	if mark {
		doubt(now) // first: an outcome of the attempt before may be recorded meanwhile
		marked := a.part
		marked.State, marked.Doubt = records.Sending, now
		if err := o.state.DoBeside(context.Background(), func(t *state.Tx) error {
			_, err := records.Update(t, a.it.ID, a.pos, &marked, now)
			return err
		}, nil); err != nil {
			doubt(time.Time{})
			return err
		}
	}
	a.part.Attempts++
	o.mu.Lock()
	a.it.Parts[a.pos].State = records.Sending
	a.it.Parts[a.pos].Attempts++
	o.mu.Unlock()
	o.counters.attempts.Add(1)
	o.opts.Trace(a.it.Folder, a.it.Request, "sending")
	return nil
}

// prepare has the channel do what may be repeated, before the part is marked.
func (o *Outbox) prepare(ctx context.Context, ch channel.Channel, a *attempt) error {
	p, can := ch.(channel.Preparer)
	if !can || len(a.part.Files) == 0 || a.part.Act != nil {
		return nil
	}
	o.mu.Lock()
	a.it.Parts[a.pos].State = records.Sending
	o.mu.Unlock()
	return o.call(ctx, ch, a.part.Size(), func(ctx context.Context) error { return p.Prepare(ctx, o.message(ctx, a)) })
}

// unprepared returns the outcome of an attempt that ended before anything could be shown.
func (o *Outbox) unprepared(ctx context.Context, ch channel.Channel, a *attempt, err error) outcome {
	a.part.Attempts++
	if channel.ClassOf(err) == channel.Permanent {
		return o.refused(ch, a, err)
	}
	out := o.later(a, err)
	if ctx.Err() != nil {
		out.held = false // for the next host to find out
	}
	return out
}

// send calls the channel.
func (o *Outbox) send(ctx context.Context, ch channel.Channel, a *attempt) (r channel.Receipt, err error) {
	err = o.call(ctx, ch, a.part.Size(), func(ctx context.Context) (err error) {
		r, err = ch.Send(ctx, o.message(ctx, a))
		return late(ctx, err)
	})
	return r, err
}

// call runs the channel's Send with a deadline that grows with the size of the files. A
// panic makes the outcome ambiguous.
func (o *Outbox) call(ctx context.Context, ch channel.Channel, size int64, send func(context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, o.opts.SendTimeout+time.Duration(size>>17)*time.Second)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			o.opts.Log.Error("a channel panicked", "channel", ch.Name(), "error", p, "stack", string(debug.Stack()))
			err = ambiguous(fmt.Errorf("panic: %v", p))
		}
	}()
	return send(ctx)
}

// late makes a channel's error ambiguous if it came after the deadline, unless the channel
// gives the error's class, or could not open the file.
func late(ctx context.Context, err error) error {
	var known *channel.Error
	var unopened *blob.Trouble
	if err != nil && ctx.Err() != nil && !errors.As(err, &known) && !errors.As(err, &unopened) {
		return ambiguous(err)
	}
	return err
}

// find asks the channel whether it sent the part: nil, nil if it did not.
func (o *Outbox) find(ctx context.Context, finder channel.Finder, a *attempt) (r *channel.Receipt, err error) {
	ctx, cancel := context.WithTimeout(ctx, o.opts.SendTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			o.opts.Log.Error("a channel panicked", "channel", a.it.Channel, "error", p, "stack", string(debug.Stack()))
			r, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	return finder.Find(ctx, o.message(ctx, a))
}

// noThread reports whether the delivery is for a thread and its platform has no threads.
func (a *attempt) noThread() bool {
	return a.it.Thread != "" && !a.ln.line.channel().Limits().Threads
}

// message is what the channel gets. Its files can be opened until ctx is done.
func (o *Outbox) message(ctx context.Context, a *attempt) channel.Message {
	p := &a.part
	m := channel.Message{
		ID: p.MessageID, Chat: a.it.Chat, Text: p.Text, ReplyTo: p.ReplyTo, State: p.Saved, Since: p.Doubt, Attempt: watched{o, a},
	}
	if !a.noThread() && !p.Unthreaded {
		m.Thread = a.it.Thread
	}
	if q := p.Question; q != nil && !q.Numbered {
		m.Poll = &channel.Poll{Choices: q.Choices, Several: q.Several}
	}
	for _, f := range p.Files {
		m.Files = append(m.Files, channel.File{Info: f.Info, SHA256: f.SHA256, Content: o.state.Blobs.Content(ctx, f.Blob, f.SHA256, f.Size, a.it.BytesOf(f.Blob))})
	}
	return m
}

// watched is an attempt as its channel sees it.
type watched struct {
	o *Outbox
	a *attempt
}

func (w watched) Save(ctx context.Context, state []byte) error { return w.o.save(ctx, w.a, state) }
func (w watched) Progress(sent int64)                          { w.a.sent.Store(sent) }
