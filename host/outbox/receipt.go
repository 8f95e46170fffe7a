package outbox

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
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
func (o *Outbox) awaits(ch channel.Channel, p *Part, err error) time.Time {
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
func (o *Outbox) shown(it *item, pos int, state State) {
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
	states map[earlyKey]State
	order  []earlyKey
}

type earlyKey struct {
	chat groups.Address
	id   string // the platform's
}

const maxEarly = 256

func (e *earlyReceipts) put(chat groups.Address, id string, s State) {
	k := earlyKey{chat, id}
	if e.states == nil {
		e.states = map[earlyKey]State{}
	}
	if _, ok := e.states[k]; !ok {
		e.order = append(e.order, k)
		if len(e.order) > maxEarly {
			delete(e.states, e.order[0])
			e.order = e.order[1:]
		}
	}
	if further(e.states[k], s) {
		e.states[k] = s
	}
}

// reported returns the reported state of a message; empty if there was no report.
func (e *earlyReceipts) reported(chat groups.Address, id string) State {
	return e.states[earlyKey{chat, id}]
}

func (e *earlyReceipts) forget(chat groups.Address, id string) {
	delete(e.states, earlyKey{chat, id})
}

// further reports whether the second state is further than the first.
func further(was, is State) bool {
	steps := []State{"", Pending, Sent, Delivered, Read}
	from := slices.Index(steps, was)
	return from >= 0 && slices.Index(steps, is) > from
}

// Report records that the platform shows a message, that a member's device has it, or that
// a member has read it. A state never goes back. Unknown ids are no error: members'
// devices report all messages of a chat.
func (o *Outbox) Report(ctx context.Context, chat groups.Address, id string, s channel.State) error {
	to, known := map[channel.State]State{
		channel.StateSent: Sent, channel.StateDelivered: Delivered, channel.StateRead: Read,
	}[s]
	if id == "" || !known {
		return nil
	}
	var found refined
	return o.state.Do(ctx, func(t *state.Tx) error {
		var err error
		found, err = refine(t, chat, id, to)
		return err
	}, func() {
		switch {
		case !found.known:
			o.early.put(chat, id, to)
		case found.changed:
			o.mu.Lock()
			defer o.mu.Unlock()
			it := o.live[found.delivery]
			switch {
			case it == nil:
			case found.pending:
				o.shown(it, found.position, to)
			default:
				it.Parts[found.position].reached(to, found.at)
			}
			o.changes.add(found.folder, found.delivery, markNew)
		}
	})
}

// refined is what refine found about the part of a receipt.
type refined struct {
	known    bool // the part exists
	changed  bool // the receipt adds to the record
	pending  bool // the part is Pending
	delivery int64
	folder   string
	position int
	at       time.Time
}

// reached gives a part the state that was reported of it.
func (p *Part) reached(s State, at time.Time) {
	switch p.State = s; s {
	case Delivered:
		p.DeliveredAt = at
	case Read:
		p.ReadAt = at
	}
}

// refine writes the new state of a part.
func refine(t *state.Tx, chat groups.Address, id string, to State) (r refined, err error) {
	rows, err := t.Query(`SELECT p.delivery, d.folder, p.position, p.state, p.shown FROM part p JOIN delivery d ON d.id = p.delivery
		WHERE p.receipt = ? AND p.receipt <> '' AND d.channel = ? AND d.chat = ?`, id, chat.Channel, string(chat.JID))
	var was, shown State
	if err := each(rows, err, func() error {
		r.known = true
		return rows.Scan(&r.delivery, &r.folder, &r.position, &was, &shown)
	}); err != nil {
		return r, ofDatabase("look for a message", err)
	}
	r.pending = was == Pending
	if r.changed = further(cmp.Or(shown, was), to); !r.changed {
		return r, nil
	}
	r.at = time.Now()
	if r.pending { // its attempt ends it
		_, err = t.Exec(`UPDATE part SET shown = ? WHERE delivery = ? AND position = ?`, string(to), r.delivery, r.position)
	} else {
		_, err = t.Exec(`UPDATE part SET state = ?1, delivered_at = CASE WHEN ?1 = 'delivered' THEN ?2 ELSE delivered_at END,
			read_at = CASE WHEN ?1 = 'read' THEN ?2 ELSE read_at END
			WHERE delivery = ?3 AND position = ?4`, string(to), nano(r.at), r.delivery, r.position)
	}
	if err == nil {
		_, err = t.Exec(`UPDATE delivery SET changed = ? WHERE id = ?`, nano(r.at), r.delivery)
	}
	return r, ofDatabase("record a receipt", err)
}
