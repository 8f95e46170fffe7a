package outbox

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state"
)

// The limits of one call of a channel.MultiSender.
const (
	partsTogether = 64
	bytesTogether = 1 << 20 // of texts and files
)

// follow begins attempts at the parts that go in the same call as a's part, and returns a
// and those attempts: the next parts of the same group in the chat, up to the first part
// that waits, that has a history, or that is no plain message, and within the group's
// rate.
func (o *Outbox) follow(a *attempt, now time.Time) []*attempt {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := []*attempt{a}
	most := min(partsTogether, pipeline-a.ln.unrecorded)
	if a.part.Saved != nil || a.ln.blocked > 0 || !a.part.Plain() {
		return all
	}
	size := a.part.Size() + int64(len(a.part.Text))
	for _, it := range a.ln.heads {
		due := o.deadline(it, now)
		for pos := it.pos; pos < len(it.Parts); pos++ {
			p := &it.Parts[pos]
			if !p.State.Open() || it == a.it && pos == a.pos {
				continue
			}
			size += p.Size() + int64(len(p.Text))
			known := p.State != records.Queued || !p.Doubt.IsZero() || p.Saved != nil || !p.Plain()
			if known || p.Next.After(now) || !now.Before(due) || it.Folder != a.it.Folder || len(all) >= most || size > bytesTogether {
				return all
			}
			if a.rate != nil && !a.rate.AllowN(now, 1) {
				return all
			}
			next := &attempt{ln: a.ln, it: it, pos: pos, part: *p, due: due}
			next.part.Attempts++
			p.State, p.Attempts = records.Sending, p.Attempts+1
			all = append(all, next)
		}
	}
	return all
}

// sendAll sends parts of one chat in one call. Parts that the channel did not try are
// unchanged.
func (o *Outbox) sendAll(ctx context.Context, ch channel.MultiSender, all []*attempt, start time.Time) (outs []outcome) {
	size := int64(0)
	ms := make([]channel.Message, len(all))
	for i, a := range all {
		size += a.part.Size()
		ms[i] = o.message(ctx, a)
		if i > 0 {
			o.counters.attempts.Add(1)
			o.opts.Trace(a.it.Folder, a.it.Request, "sending")
		}
	}
	c := all[0].ln.line.channel()
	var answers []channel.Outcome
	rec := &together{o: o, all: all}
	err := o.call(ctx, c, size, func(ctx context.Context) error {
		if s, can := ch.(channel.StateSender); can {
			answers = s.SendRecorded(ctx, ms, rec)
		} else {
			answers = ch.SendAll(ctx, ms)
		}
		for i := range answers {
			answers[i].Err = late(ctx, answers[i].Err)
		}
		if len(answers) == 0 {
			return ambiguous(errors.New("no outcome"))
		}
		return nil
	})
	for _, out := range rec.recorded {
		o.opts.Trace(out.it.Folder, out.it.Request, "acknowledged")
	}
	o.settled(rec.recorded)
	outs = rec.recorded
	for i := len(outs); i < len(all); i++ {
		a, answer := all[i], channel.Outcome{Err: err}
		if err == nil {
			if i == len(answers) || i > 0 && answers[i-1].Last() {
				o.untried(all[i:])
				break
			}
			answer = answers[i]
		}
		outs = append(outs, o.answered(ctx, c, a, start, answer.Receipt, answer.Err))
	}
	return outs
}

// together records outcomes in the change of the state that makes their messages durable. So
// a crash leaves both, or neither.
type together struct {
	o        *Outbox
	all      []*attempt
	written  []outcome
	recorded []outcome // written, once they are durable
}

// Record implements channel.Recorder. It leaves to the recorder what follows an error.
func (r *together) Record(t *state.Tx, answers []channel.Outcome) error {
	r.written = nil
	for i, answer := range answers {
		if answer.Err != nil {
			break
		}
		out := r.o.confirmed(r.all[i], answer.Receipt)
		out.recorded = true
		r.written = append(r.written, out)
	}
	return r.o.write(t, r.written)
}

// Recorded implements channel.Recorder. It runs in the commit.
func (r *together) Recorded() {
	r.o.mu.Lock()
	defer r.o.mu.Unlock()
	r.recorded = r.written
	for i := range r.recorded {
		r.o.advance(&r.recorded[i])
		r.o.follows(&r.recorded[i])
	}
}

// untried undoes the start of attempts.
func (o *Outbox) untried(all []*attempt) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, a := range all {
		p := &a.it.Parts[a.pos]
		p.State, p.Attempts = records.Queued, p.Attempts-1
		o.counters.attempts.Add(-1)
	}
}

// sendAtOnce sends deliveries in the commit that records them, if their messages are in the
// state, and nothing of their chat waits. It reports whether they are recorded; else they have
// to be recorded as deliveries that wait, and nothing of them was sent.
func (o *Outbox) sendAtOnce(ctx context.Context, p *putting) bool {
	key, ok := p.simple()
	if !ok {
		return false
	}
	s := &atOnce{putting: p}
	ch := o.reserve(s, key)
	if ch == nil {
		return false
	}
	defer o.unblock(s.ln)
	var ms []channel.Message
	for _, it := range p.items {
		for i := range it.Parts {
			a := &attempt{ln: s.ln, it: it, pos: i, part: it.Parts[i]}
			s.all = append(s.all, a)
			ms = append(ms, o.message(ctx, a))
			o.opts.Trace(it.Folder, it.Request, "sending")
		}
	}
	_ = o.call(ctx, s.ln.line.channel(), 0, func(ctx context.Context) error { // what it says of errors, the lane will hear again
		ch.SendRecorded(ctx, ms, s)
		return nil
	})
	if !s.done {
		s.reset()
		return false
	}
	for _, a := range s.all[:s.sent] {
		o.opts.Trace(a.it.Folder, a.it.Request, "acknowledged")
		o.opts.Trace(a.it.Folder, a.it.Request, "settled")
	}
	if s.sent < len(s.all) {
		o.poke()
	}
	return true
}

// simple returns the chat of deliveries of one group that are plain messages without large
// files, and few enough for one call of the channel.
func (p *putting) simple() (key groups.Address, ok bool) {
	if len(p.items) == 0 {
		return key, false
	}
	first, parts := p.items[0], 0
	for _, it := range p.items {
		parts += len(it.Parts)
		if it.Approval != nil || it.Folder != first.Folder || it.Address() != first.Address() {
			return key, false
		}
		for i := range it.Parts {
			if part := &it.Parts[i]; !part.Plain() || part.Link != nil {
				return key, false
			}
		}
	}
	return first.Address(), parts <= partsTogether && !slices.ContainsFunc(p.blobs, blob.IsName)
}

// reserve blocks the lane of a chat if a message can be sent there at once, and returns the
// chat's channel; else nil.
func (o *Outbox) reserve(s *atOnce, key groups.Address) channel.StateSender {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.line(key.Channel)
	ch, can := l.channel().(channel.StateSender)
	if !can || !o.runs || !l.hold.since.IsZero() || o.lanes[key] != nil {
		return nil
	}
	now, parts := time.Now(), 0
	for _, it := range s.items {
		parts += len(it.Parts)
	}
	if rate := o.limiter(s.items[0].Folder, now); rate != nil && !rate.AllowN(now, parts) {
		return nil
	}
	s.ln = o.lane(key, s.items[0].Folder)
	s.ln.blocked++
	return ch
}

// atOnce is deliveries that are sent in the commit that records them.
type atOnce struct {
	*putting
	ln   *lane
	all  []*attempt
	sent int // of all, in the commit
	done bool
}

var (
	errKnown  = errors.New("the delivery is recorded already")
	errBehind = errors.New("a message is behind one that is refused")
)

// Record implements channel.Recorder. A part with an error waits in its lane. If others are behind
// it, all wait: the record of one that is shown says so.
func (s *atOnce) Record(t *state.Tx, answers []channel.Outcome) error {
	s.reset()
	for i, answer := range answers {
		if answer.Err != nil && i < len(answers)-1 {
			return errBehind
		}
		if answer.Err != nil {
			break
		}
		a := s.all[i]
		p := s.o.confirmed(a, answer.Receipt).part.WithoutBlobs()
		p.Attempts = 1
		a.it.Parts[a.pos], s.sent = p, i+1
		a.it.skip()
	}
	if err := s.record(t); err != nil {
		return err
	}
	if slices.ContainsFunc(s.items, func(it *item) bool { return it.ID == 0 }) {
		return errKnown
	}
	return nil
}

// Recorded implements channel.Recorder. It runs in the commit.
func (s *atOnce) Recorded() {
	s.done = true
	s.o.counters.attempts.Add(int64(s.sent))
	s.o.counters.sent.Add(int64(s.sent))
	s.recorded()
}

// reset makes all parts wait again.
func (s *atOnce) reset() {
	s.sent = 0
	for _, a := range s.all {
		a.it.Parts[a.pos], a.it.pos, a.it.ID = a.part, 0, 0
	}
}
