package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// outcome is what came of an attempt.
type outcome struct {
	*attempt
	part    records.Part   // as it is to be recorded
	lower   []records.Part // the parts that take its place, of which part is the first: the platform refused its form
	held    bool           // the whole channel waits
	stop    bool           // the host stops: the outcome is unknown and is not recorded
	unsends int            // changes that lower added to later messages
	ended   bool           // recorded as the part's end, or as lower; false if an operator cancelled the part meanwhile

	recorded bool // in the change of the state that made the message durable
}

// acknowledged returns the outcome if the platform confirms that it has the part. If the
// platform does not show the part yet, the part stays at the head of its chat, so that no
// later part overtakes it, and await asks again.
func (o *Outbox) acknowledged(a *attempt, r channel.Receipt) outcome {
	o.opts.Trace(a.it.Folder, a.it.Request, "acknowledged")
	return o.confirmed(a, r)
}

func (o *Outbox) confirmed(a *attempt, r channel.Receipt) outcome {
	p := a.part
	p.State, p.Receipt = records.Sent, r
	p.Receipt.Note = noted(a.part.Receipt.Note, r.Note)
	if a.noThread() && !r.Pending {
		p.Receipt.Note = noted(p.Receipt.Note, "the chat has no threads, so it went to the chat itself")
	}
	if p.Receipt.Time.IsZero() {
		p.Receipt.Time = time.Now()
	}
	p.Code, p.Message, p.Hint = "", "", ""
	if r.Pending {
		p.State, p.Receipt.Pending, p.Doubt = records.Pending, false, time.Now()
		p.Next = o.awaits(a.ln.line.channel(), &p, nil)
		return outcome{attempt: a, part: p}
	}
	p.Next, p.Doubt, p.Saved = time.Time{}, time.Time{}, nil
	return outcome{attempt: a, part: p}
}

// failed ends a part that the channel refuses for good. The part is uncertain if an
// earlier attempt may have been shown.
func failed(a *attempt, err error) outcome {
	p := a.part
	p.State, p.Next = records.Failed, time.Time{}
	if !p.Doubt.IsZero() {
		p.State = records.Uncertain
	}
	p.Code, p.Message, p.Hint = words(err)
	return outcome{attempt: a, part: p}
}

// unknown ends a part that may have been shown if there is no way to find out. It clears
// Doubt, so that an operator's Retry does not wait.
func (o *Outbox) unknown(a *attempt, err error) outcome {
	o.log(a).Warn("nobody can say whether a message arrived", "error", err)
	p := a.part
	p.State, p.Next, p.Doubt = records.Uncertain, time.Time{}, time.Time{}
	what := "the message"
	if len(p.Files) > 0 {
		what = "the file"
	}
	p.Code = codeAmbiguous
	p.Message = "the answer of the platform was lost and nobody can ask for it: " + what + " may or may not have arrived"
	if a.part.State == records.Pending {
		p.Message = "the platform took " + what + ", and did not say that it shows it"
	}
	p.Hint = "look into the chat, or ask a member, before you send it again"
	return outcome{attempt: a, part: p}
}

// expired ends a part that has passed its deadline.
func (o *Outbox) expired(a *attempt) outcome {
	p := a.part
	met := ""
	if p.Message != "" {
		met = "; the last attempt met: " + p.Message
	}
	p.State, p.Next, p.Code = records.Failed, time.Time{}, codeDeadline
	p.Message = fmt.Sprintf("it could not be sent within %v%s", o.limits().MaxAge, met)
	p.Hint = "ask the operator whether the channel works, then call again"
	if !p.Doubt.IsZero() {
		p.State = records.Uncertain
		p.Message = "the platform never said whether it was shown"
		p.Hint = "look into the chat before you send it again"
	}
	return outcome{attempt: a, part: p}
}

// later returns the outcome of an attempt that will be repeated. Doubt remembers, over further
// attempts and over a crash, that an earlier attempt may have been shown.
func (o *Outbox) later(a *attempt, err error) outcome {
	o.log(a).Info("a send waits", "attempts", a.part.Attempts, "error", err)
	p := &a.part
	if p.State != records.Pending {
		p.State = records.Queued
	}
	p.Code, p.Message, p.Hint = words(err)
	wait := o.limits().Backoff.after(p.Attempts)
	if channel.ClassOf(err) == channel.Held {
		p.Attempts = max(0, p.Attempts-1)
		return outcome{attempt: a, part: *p, held: true}
	}
	now := time.Now()
	if !now.Before(a.due) {
		return o.expired(a)
	}
	var e *channel.Error
	if errors.As(err, &e) {
		wait = max(wait, e.RetryAfter)
	}
	p.Next = now.Add(wait)
	if p.Next.After(a.due) {
		p.Next = a.due
	}
	return outcome{attempt: a, part: *p}
}

func (o *Outbox) log(a *attempt) *slog.Logger {
	return o.opts.Log.With("group", a.it.Folder, "request", a.it.Request, "chat", a.it.Chat, "channel", a.it.Channel)
}

// ambiguous makes an error ambiguous.
func ambiguous(err error) error {
	return &channel.Error{Class: channel.Ambiguous, Code: codeAmbiguous,
		Message: "the platform did not say whether it took the message", Err: err}
}

// words returns the text of an error for the agent: the channel's own words, or a general text
// without details, because details may name things of the host.
func words(err error) (code, message, hint string) {
	var e *channel.Error
	if !errors.As(err, &e) || e.Message == "" {
		return codeFailed, "the channel could not send it", ""
	}
	code = codeFailed
	if e.Class == channel.Ambiguous {
		code = codeAmbiguous
	}
	return cmp.Or(e.Code, code), e.Message, e.Hint
}

// conclude passes an outcome to the recorder and moves the lane on. The caller holds mu.
func (o *Outbox) conclude(out outcome) {
	o.advance(&out)
	if out.stop {
		return
	}
	out.ln.unrecorded++
	o.outcomes = append(o.outcomes, out)
	wake.Up(o.toRecord)
}

// advance moves the lane on after an attempt. The caller holds mu.
func (o *Outbox) advance(out *outcome) {
	ln, it, pos := out.ln, out.it, out.pos
	p := &it.Parts[pos]
	p.Sent, out.seen = 0, out.sent.Load() // else watch would set it again
	if p.State == records.Sending {
		p.State = records.Queued
	}
	if out.stop {
		ln.recovered++
		return
	}
	ln.recovered = max(0, ln.recovered-1)
	ln.lowering = out.lower != nil
	if out.part.State.Open() {
		out.part.Shown = p.Shown // it may have been reported meanwhile
		*p = out.part            // what the next attempt has to know
		return
	}
	it.pos++
	it.skip()
	if it.pos == len(it.Parts) {
		o.finished(ln)
	}
}

// recordOutcomes records outcomes, many in one commit, until stop is closed and none is
// left. If the disk accepts no writes, it keeps the outcomes and tries again. At the end
// it tries once more; a part whose outcome is still not recorded is sent again, or asked
// about, after the next start.
func (o *Outbox) recordOutcomes(stop <-chan struct{}) {
	for tries, stopping := 0, false; ; {
		o.mu.Lock()
		batch := slices.Clone(o.outcomes)
		o.mu.Unlock()
		if len(batch) == 0 {
			if stopping {
				return
			}
			select {
			case <-stop:
				stopping = true // and look once more: there are no attempts now
			case <-o.toRecord:
			}
			continue
		}
		err := o.record(batch)
		if err == nil {
			tries = 0
			o.poke()
			continue
		}
		tries++
		o.opts.Log.Error("record outcomes", "error", err)
		if stopping {
			return
		}
		select {
		case <-stop:
			stopping = true
		case <-time.After(min(o.limits().Backoff.after(tries), 10*time.Second)):
		}
	}
}

// record makes the first outcomes durable, queues their deliveries for NextChanges, and deletes
// the bytes that are no longer needed. The outcomes of a [channel.StateSender] need none,
// see together.
func (o *Outbox) record(batch []outcome) error {
	do := o.state.DoBeside
	if slices.ContainsFunc(batch, isLower) { // which reads what was recorded before
		do = o.state.Do
	}
	err := do(context.Background(), func(t *state.Tx) error { return o.write(t, batch) }, func() { o.recorded(batch) })
	if err == nil {
		o.settled(batch)
	}
	return err
}

// write writes outcomes. It notes in each whether it ended the part.
func (o *Outbox) write(t *state.Tx, batch []outcome) error {
	o.prepareOutcomes(batch)
	now := time.Now()
	for len(batch) > 0 {
		n := slices.IndexFunc(batch, isLower)
		if n < 0 {
			n = len(batch)
		}
		some := batch[:max(1, n)]
		if err := t.Each(len(some), func(i int) error { return some[i].write(t, now) }); err != nil {
			return err
		}
		batch = batch[len(some):]
	}
	return nil
}

func isLower(out outcome) bool { return out.lower != nil }

func (out *outcome) write(t *state.Tx, now time.Time) (err error) {
	if out.lower != nil {
		out.ended, out.unsends, err = records.Lower(t, &out.it.Record, out.pos, out.lower, now)
		return err
	}
	if out.ended, err = records.Update(t, out.it.ID, out.pos, &out.part, now); err != nil || !out.ended || len(out.part.Blobs()) > 0 {
		return err
	}
	if err := blob.Delete(t, out.attempt.part.Blobs()...); err != nil {
		return fmt.Errorf("record an outcome: %w", store.Words(err))
	}
	return nil
}

// settled deletes the bytes that nobody needs after a record.
func (o *Outbox) settled(batch []outcome) {
	var spent []string
	over := map[string]bool{}
	for _, out := range batch {
		if !out.ended || out.lower != nil {
			continue
		}
		o.opts.Trace(out.it.Folder, out.it.Request, "settled")
		switch names := out.attempt.part.Blobs(); {
		case len(names) == 0:
		case len(out.part.Blobs()) == 0:
			spent = append(spent, names...)
		default:
			over[out.it.Folder] = true
		}
	}
	o.removeBlobs(spent...)
	for folder := range over {
		o.evict(folder)
	}
}

// prepareOutcomes adds events since the attempts ended: the next attempt may have begun
// and marked the part, and a member's device may have reported the message before the
// platform answered. It runs in the commit.
func (o *Outbox) prepareOutcomes(batch []outcome) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range batch {
		out := &batch[i]
		p := &out.part
		early := o.early.reported(out.it.Address(), p.Receipt.ID)
		switch p.State {
		case records.Pending:
			p.Shown = cmp.Or(out.it.Parts[out.pos].Shown, early)
		case records.Queued:
			p.Doubt = out.it.Parts[out.pos].Doubt
		case records.Sent:
			*p = p.WithoutBlobs()
			p.Reached(cmp.Or(early, out.it.Parts[out.pos].Shown, records.Sent), now)
		}
	}
}

// recorded updates memory after a record of the first outcomes. It runs in the commit.
func (o *Outbox) recorded(batch []outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range batch {
		out := &batch[i]
		o.follows(out)
		out.ln.unrecorded--
		if out.ln.state == idle {
			o.schedule(out.ln)
		}
	}
	o.outcomes = slices.Delete(o.outcomes, 0, len(batch))
}

// follows changes in memory what an outcome has changed in the records. The caller holds mu.
func (o *Outbox) follows(out *outcome) {
	if out.lower != nil {
		o.lowered(out)
	} else if out.ended {
		o.use(out.it.Folder, records.Usage{Parts: -1, Bytes: -out.part.Size()})
		out.it.Parts[out.pos] = out.part
		o.tally(&out.part)
		o.early.forget(out.it.Address(), out.part.Receipt.ID)
		if len(out.part.Blobs()) > 0 {
			o.use(out.it.Folder, records.Usage{Retained: out.part.Size()})
		}
	} else if out.part.Shown != "" {
		o.shown(out.it, out.pos, out.part.Shown)
	}
	o.changed(out.it)
}

func (o *Outbox) tally(p *records.Part) {
	switch p.State {
	case records.Failed:
		o.counters.failed.Add(1)
	case records.Uncertain:
		o.counters.uncertain.Add(1)
	default:
		o.counters.sent.Add(1)
	}
}

// The codes that an attempt itself gives. They are for agents and operators;
// nothing here branches on them.
const (
	codeDeadline     = "deadline"
	codeAmbiguous    = "no_answer"
	codeFailed       = "send_failed"
	codeNoChannel    = "no_channel"
	codeNotSupported = "not_supported"
)
