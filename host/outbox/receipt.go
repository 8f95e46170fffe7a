package outbox

import (
	"container/heap"
	"context"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox/changes"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state"
)

// pendingFor is how long a chat waits for the platform to show a message that the platform
// has.
const pendingFor = 5 * time.Minute

// await asks whether the platform shows a pending part by now. Meanwhile the chat's next
// parts wait, so that none overtakes it.
func (o *Outbox) await(ctx context.Context, ch channel.Channel, a *attempt) outcome {
	p := &a.part
	if p.Shown != "" {
		return o.acknowledged(a, p.Receipt)
	}
	var err error
	if finder, finds := ch.(channel.Finder); finds {
		var found *channel.Receipt
		found, err = o.find(ctx, finder, a)
		switch class := channel.ClassOf(err); {
		case err == nil && found != nil && !found.Pending:
			return o.acknowledged(a, *found)
		case ctx.Err() != nil:
			return outcome{attempt: a, stop: true}
		case class == channel.Permanent:
			return o.unknown(a, err)
		case class == channel.Held:
			return o.later(a, err)
		}
	}
	if time.Since(p.Doubt) >= pendingFor {
		return o.unknown(a, err)
	}
	p.Attempts++
	p.Next = o.awaits(ch, p, err)
	return outcome{attempt: a, part: *p}
}

// awaits returns the time of await's next question. If the channel cannot be asked, it is
// the part's deadline: until then Report may end the part.
func (o *Outbox) awaits(ch channel.Channel, p *records.Part, err error) time.Time {
	end := p.Doubt.Add(pendingFor)
	if _, finds := ch.(channel.Finder); !finds {
		return end
	}
	next := time.Now().Add(max(o.limits().Backoff.after(p.Attempts), channel.RetryAfterOf(err)))
	if next.After(end) {
		return end
	}
	return next
}

// shown records a report about a Pending part and lets its chat go on. The caller holds
// mu.
func (o *Outbox) shown(it *item, pos int, state records.State) {
	it.Parts[pos].Shown = state
	ln := o.lanes[it.Address()]
	if ln == nil || ln.state != waiting || len(ln.heads) == 0 || ln.heads[0] != it {
		return
	}
	it.Parts[pos].Next = time.Time{}
	ln.at = time.Now()
	heap.Fix(&o.waits, ln.index)
	o.poke()
}

// earlyReceipts keeps reports about messages whose sending is not recorded yet. The commit
// guards it.
type earlyReceipts struct {
	states map[earlyKey]records.State
	order  []earlyKey
}

type earlyKey struct {
	chat groups.Address
	id   string // the platform's
}

const maxEarly = 256

func (e *earlyReceipts) put(chat groups.Address, id string, s records.State) {
	k := earlyKey{chat, id}
	if e.states == nil {
		e.states = map[earlyKey]records.State{}
	}
	if _, ok := e.states[k]; !ok {
		e.order = append(e.order, k)
		if len(e.order) > maxEarly {
			delete(e.states, e.order[0])
			e.order = e.order[1:]
		}
	}
	if s.Beyond(e.states[k]) {
		e.states[k] = s
	}
}

// reported returns the reported state of a message; empty if there was no report.
func (e *earlyReceipts) reported(chat groups.Address, id string) records.State {
	return e.states[earlyKey{chat, id}]
}

func (e *earlyReceipts) forget(chat groups.Address, id string) {
	delete(e.states, earlyKey{chat, id})
}

// Report records that the platform shows a message, that a member's device has it, or that
// a member has read it. A state never goes back. Unknown ids are no error: members'
// devices report all messages of a chat.
func (o *Outbox) Report(ctx context.Context, chat groups.Address, id string, s channel.State) error {
	to, known := map[channel.State]records.State{
		channel.StateSent: records.Sent, channel.StateDelivered: records.Delivered, channel.StateRead: records.Read,
	}[s]
	if id == "" || !known {
		return nil
	}
	var found records.Refined
	return o.state.Do(ctx, func(t *state.Tx) error {
		var err error
		found, err = records.Refine(t, chat, id, to)
		return err
	}, func() {
		switch {
		case !found.Known:
			o.early.put(chat, id, to)
		case found.Changed:
			o.mu.Lock()
			defer o.mu.Unlock()
			it := o.live[found.Delivery]
			switch {
			case it == nil:
			case found.Pending:
				o.shown(it, found.Position, to)
			default:
				it.Parts[found.Position].Reached(to, found.At)
			}
			o.changes.Add(found.Folder, found.Delivery, changes.New)
		}
	})
}
