package outbox

import (
	"context"
	"errors"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
)

// What one call of a channel.MultiSender is given at most.
const (
	partsTogether = 64
	bytesTogether = 1 << 20 // of texts and files
)

// follow begins attempts at the parts that go together with a's, and returns a and
// them: what the same group sends to the chat next, up to the first part that waits,
// of which more is known than that it is to be sent, or that is no plain message, and as many as the group's rate allows.
func (o *Outbox) follow(a *attempt, now time.Time) []*attempt {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := []*attempt{a}
	most := min(partsTogether, pipeline-a.ln.unrecorded)
	if a.part.Saved != nil || a.ln.blocked > 0 || !a.part.plain() {
		return all
	}
	size := a.part.Size() + int64(len(a.part.Text))
	for _, it := range a.ln.heads {
		due := o.deadline(it, now)
		for pos := it.pos; pos < len(it.Parts); pos++ {
			p := &it.Parts[pos]
			if !p.State.open() || it == a.it && pos == a.pos {
				continue
			}
			size += p.Size() + int64(len(p.Text))
			known := p.State != Queued || !p.Doubt.IsZero() || p.Saved != nil || !p.plain()
			if known || p.Next.After(now) || !now.Before(due) || it.Folder != a.it.Folder || len(all) >= most || size > bytesTogether {
				return all
			}
			if a.rate != nil && !a.rate.AllowN(now, 1) {
				return all
			}
			next := &attempt{ln: a.ln, it: it, pos: pos, part: *p, due: due}
			next.part.Attempts++
			p.State, p.Attempts = Sending, p.Attempts+1
			all = append(all, next)
		}
	}
	return all
}

// sendAll sends parts of one chat together. Those that the channel has not tried
// are as they were before.
func (o *Outbox) sendAll(ctx context.Context, ch channel.MultiSender, all []*attempt, start time.Time) (outs []outcome) {
	size := int64(0)
	ms := make([]channel.Message, len(all))
	for i, a := range all {
		size += a.part.Size()
		ms[i] = o.message(a)
		ms[i].State, ms[i].Since, ms[i].Save, ms[i].Progress = nil, time.Time{}, nil, nil
		if i > 0 {
			o.counters.attempts.Add(1)
			o.opts.Trace(a.it.Folder, a.it.Request, "sending")
		}
	}
	c := all[0].ln.line.ch
	var answers []channel.Outcome
	err := o.call(ctx, c, size, func(ctx context.Context) error {
		answers = ch.SendAll(ctx, ms)
		for i := range answers {
			answers[i].Err = late(ctx, answers[i].Err)
		}
		if len(answers) == 0 {
			return ambiguous(errors.New("no outcome"))
		}
		return nil
	})
	for i, a := range all {
		answer := channel.Outcome{Err: err}
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

// untried takes back that attempts have begun.
func (o *Outbox) untried(all []*attempt) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, a := range all {
		p := &a.it.Parts[a.pos]
		p.State, p.Attempts = Queued, p.Attempts-1
		o.counters.attempts.Add(-1)
	}
}
