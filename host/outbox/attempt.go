package outbox

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
)

// The codes that the outbox itself gives.
const (
	codeDeadline  = "deadline"
	codeAmbiguous = "no_answer" // the channel's last answer left open whether it was sent
	codeFailed    = "send_failed"
	codeNoChannel = "no_channel"
	codeLostBytes = "lost_bytes"
	codeDropped   = "dropped"
)

// attempt is a send in flight. mu guards all but sent.
type attempt struct {
	it      *item
	pos     int
	sent    atomic.Int64
	told    int64     // as it was at the last look
	seen    time.Time // when it last moved
	stalled bool      // no longer counts against Parallel
}

// verdict is what came of an attempt.
type verdict struct {
	part Part // as it is to be recorded
	hold bool // the whole channel waits
	stop bool // the host stops: nothing is known, nothing is recorded
}

// turnOf sends the next part of a lane, and returns the lane.
func (o *Outbox) turnOf(ctx context.Context, ln *lane) {
	defer o.poke()
	err := o.fill(ln)
	o.mu.Lock()
	if err != nil || len(ln.heads) == 0 {
		defer o.mu.Unlock()
		o.leave(ln)
		if err != nil {
			o.opts.Log.Error("read the outbox", "chat", ln.key.chat, "channel", ln.key.channel, "error", err)
			o.wait(ln, time.Now().Add(o.opts.Backoff.Initial), true)
		}
		return
	}
	it := ln.heads[0]
	ln.attempt.it, ln.attempt.pos = it, it.pos
	next := it.Parts[it.pos].Next
	if time.Until(next) > 0 { // the process before wanted to wait
		defer o.mu.Unlock()
		o.leave(ln)
		o.wait(ln, next, true)
		return
	}
	o.mu.Unlock()
	v := o.try(ctx, ln, it)
	if v.hold {
		o.startHold(ln.line)
	}
	o.mu.Lock()
	o.conclude(ln, it, v)
	o.mu.Unlock()
	// Read here what comes next, so that the lane stands in its group's turn;
	// an error shows when the lane has its turn.
	_ = o.fill(ln)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.leave(ln)
	if v.part.State.open() && !v.hold && !v.stop {
		o.trim(ln)
		o.wait(ln, v.part.Next, true)
	} else {
		o.ready(ln)
	}
}

// fill reads the chat's next deliveries, if none is in memory.
func (o *Outbox) fill(ln *lane) error {
	for {
		o.mu.Lock()
		loaded, epoch, need := ln.loaded, ln.epoch, len(ln.heads) == 0 && ln.count > 0
		n := readAhead
		if o.buffered+n > inMemory {
			n = 1
		}
		o.mu.Unlock()
		if !need {
			return nil
		}
		items, err := o.reader.ofChat(ln.key, loaded, n)
		if err != nil {
			return err
		}
		o.mu.Lock()
		same := ln.epoch == epoch && ln.loaded == loaded
		if same {
			for _, it := range items {
				o.buffer(ln, it)
			}
		}
		o.mu.Unlock()
		if same {
			return nil
		}
	}
}

// leave ends the lane's being in flight; the caller holds mu and says what
// the lane does next.
func (o *Outbox) leave(ln *lane) {
	heap.Remove(&o.waits, ln.index)
	if !ln.attempt.stalled {
		ln.line.busy--
	}
	ln.state, ln.attempt = idle, nil
}

// conclude hands a verdict to the settler and moves on; the caller holds mu.
func (o *Outbox) conclude(ln *lane, it *item, v verdict) {
	pos := it.pos
	it.Parts[pos].State, it.Parts[pos].Sent = Queued, 0
	if v.stop {
		it.doubt = it.begun[pos]
		ln.recovered++
		return
	}
	ln.recovered = max(0, ln.recovered-1)
	ln.unsettled++
	o.settler.add(outcome{ln: ln, it: it, pos: pos, part: v.part})
	if v.part.State.open() {
		it.Parts[pos] = v.part // what the next attempt has to know
		return
	}
	it.pos++
	it.skip()
	if it.pos == len(it.Parts) {
		o.finished(ln)
	}
}

// try makes one attempt at the part whose turn it is.
func (o *Outbox) try(ctx context.Context, ln *lane, it *item) verdict {
	o.mu.Lock()
	p := it.Parts[it.pos]
	doubt, begun, recovered := it.doubt, it.begun[it.pos], ln.recovered > 0
	a := ln.attempt
	due := o.deadline(it, time.Now())
	o.mu.Unlock()

	ch := ln.line.ch
	if ch == nil {
		return o.later(it, p, &channel.Error{Code: codeNoChannel, Message: "the channel is not configured"}, due)
	}
	m := o.message(it, &p, a)
	asker, asks := ch.(channel.Asker)
	if asks && doubt {
		receipt, err := o.ask(ctx, asker, m)
		switch {
		case err == nil && receipt != nil:
			return o.acknowledged(it, p, *receipt)
		case ctx.Err() != nil:
			return verdict{stop: true}
		case err != nil:
			p.Attempts++
			p.Code = codeAmbiguous
			return o.later(it, p, err, due)
		}
		o.mu.Lock()
		it.doubt = false
		o.mu.Unlock()
		p.Code = ""
	}
	// A channel that cannot be asked may have shown what the process before
	// did not live to record: such a part gets its attempt whatever its age.
	if !time.Now().Before(due) && (asks || !recovered) {
		return o.expired(p)
	}
	if asks && !begun {
		if err := o.begin(it, p); err != nil {
			return o.later(it, p, err, due)
		}
	}
	o.mu.Lock()
	it.Parts[it.pos].State = Sending
	it.Parts[it.pos].Attempts++
	o.mu.Unlock()
	p.Attempts++
	o.counters.attempts.Add(1)
	o.opts.Trace(it.Folder, it.Request, "sending")
	receipt, err := o.send(ctx, ch, m)
	switch {
	case err == nil:
		return o.acknowledged(it, p, receipt)
	case channel.ClassOf(err) == channel.Permanent:
		return failed(p, err)
	case ctx.Err() != nil:
		return verdict{stop: true}
	}
	return o.later(it, p, err, due)
}

// begin marks durably that the platform may have the part from now on.
func (o *Outbox) begin(it *item, p Part) error {
	p.State = Sending
	return o.commit.do(func(t *tx) error {
		_, err := update(t, it.id, it.pos, &p, time.Now())
		return err
	}, func() {
		o.mu.Lock()
		it.begun[it.pos] = true
		o.mu.Unlock()
	})
}

// send calls the channel, with a deadline that grows with the file.
func (o *Outbox) send(ctx context.Context, ch channel.Channel, m channel.Message) (r channel.Receipt, err error) {
	ctx, cancel := o.attemptContext(ctx, m)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			o.opts.Log.Error("a channel panicked", "channel", ch.Name(), "error", p, "stack", string(debug.Stack()))
			err = ambiguous(fmt.Errorf("panic: %v", p))
		}
	}()
	r, err = ch.Send(ctx, m)
	var known *channel.Error
	if err != nil && ctx.Err() != nil && !errors.As(err, &known) {
		err = ambiguous(err)
	}
	return r, err
}

func (o *Outbox) ask(ctx context.Context, asker channel.Asker, m channel.Message) (r *channel.Receipt, err error) {
	ctx, cancel := o.attemptContext(ctx, channel.Message{})
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			o.opts.Log.Error("a channel panicked", "error", p, "stack", string(debug.Stack()))
			r, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	return asker.Sent(ctx, m)
}

func (o *Outbox) attemptContext(ctx context.Context, m channel.Message) (context.Context, context.CancelFunc) {
	limit := o.opts.SendTimeout
	if m.File != nil {
		limit += time.Duration(m.File.Size>>17) * time.Second
	}
	return context.WithTimeout(ctx, limit)
}

func (o *Outbox) message(it *item, p *Part, a *attempt) channel.Message {
	m := channel.Message{ID: p.MessageID, Chat: it.Chat, Text: p.Text, ReplyTo: p.ReplyTo, Progress: a.sent.Store}
	if p.File != nil {
		m.File = &channel.File{Info: p.File.Info, SHA256: p.File.SHA256, Open: o.openBlob(p.File.Blob)}
	}
	return m
}
