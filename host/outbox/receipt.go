package outbox

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/store"
)

// pendingFor is how long a chat waits for the platform to show what it has.
const pendingFor = 5 * time.Minute

// await finds out whether the platform shows by now what it has. Meanwhile the
// chat's next parts wait, so that nothing overtakes.
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

// awaits is when await looks again. If nobody can be asked, it is when the part's
// time is over: until then Report may settle it.
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

// shown notes what was reported of a part that is Pending, and lets its chat go
// on. The caller holds mu.
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

// earlyReceipts keeps what devices report of messages whose sending is not
// recorded yet. The commit guards it.
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

// state is what was reported of a message; empty if nothing was.
func (e *earlyReceipts) state(chat groups.Address, id string) State {
	return e.states[earlyKey{chat, id}]
}

func (e *earlyReceipts) forget(chat groups.Address, id string) {
	delete(e.states, earlyKey{chat, id})
}

// further says whether a message has come further with the second state.
func further(was, is State) bool {
	steps := []State{"", Pending, Sent, Delivered, Read}
	from := slices.Index(steps, was)
	return from >= 0 && slices.Index(steps, is) > from
}

// Report refines what became of a message that a channel sent: the platform
// shows it now, a member's device has it, or a member has seen it. It never goes
// back, and ids that the outbox does not know are no error: members' devices
// report everything.
func (o *Outbox) Report(ctx context.Context, chat groups.Address, id string, s channel.State) error {
	state, known := map[channel.State]State{
		channel.StateSent: Sent, channel.StateDelivered: Delivered, channel.StateRead: Read,
	}[s]
	if id == "" || !known {
		return nil
	}
	var found refined
	return o.commit.Do(ctx, func(t *store.Tx) error {
		var err error
		found, err = refine(t, chat, id, state)
		return err
	}, func() {
		switch {
		case !found.known:
			o.early.put(chat, id, state)
		case found.changed:
			o.mu.Lock()
			defer o.mu.Unlock()
			it := o.live[found.delivery]
			switch {
			case it == nil:
			case found.pending:
				o.shown(it, found.position, state)
			default:
				it.Parts[found.position].State = state
			}
			o.changes.add(found.folder, found.delivery, false)
		}
	})
}

// refined is the part that a receipt is of.
type refined struct {
	known    bool // there is one
	changed  bool // the receipt says more than its record did
	pending  bool // the part is
	delivery int64
	folder   string
	position int
}

// refine writes the new state of a part.
func refine(t *store.Tx, chat groups.Address, id string, state State) (r refined, err error) {
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
	if r.changed = further(cmp.Or(shown, was), state); !r.changed {
		return r, nil
	}
	query := `UPDATE part SET state = ? WHERE delivery = ? AND position = ?`
	if r.pending { // its attempt ends it
		query = `UPDATE part SET shown = ? WHERE delivery = ? AND position = ?`
	}
	_, err = t.Exec(query, string(state), r.delivery, r.position)
	if err == nil {
		_, err = t.Exec(`UPDATE delivery SET changed = ? WHERE id = ?`, nano(time.Now()), r.delivery)
	}
	return r, ofDatabase("record a receipt", err)
}
