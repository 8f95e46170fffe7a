package outbox

import (
	"context"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// earlyReceipts keeps what devices report of messages whose sending is not
// recorded yet. It belongs to whoever commits.
type earlyReceipts struct {
	states map[earlyKey]State
	order  []earlyKey
}

type earlyKey struct {
	chat groups.JID
	id   string
}

const maxEarly = 256

func (e *earlyReceipts) put(chat groups.JID, id string, s State) {
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
	if e.states[k] != Read {
		e.states[k] = s
	}
}

// state is what a message that was just sent counts as.
func (e *earlyReceipts) state(chat groups.JID, id string) State {
	return or(e.states[earlyKey{chat, id}], Sent)
}

func (e *earlyReceipts) forget(chat groups.JID, id string) {
	delete(e.states, earlyKey{chat, id})
}

// Report refines what became of a message that a channel sent: a member's
// device has it, or a member has seen it. It never goes back, and ids that the
// outbox does not know are no error: members' devices report everything.
func (o *Outbox) Report(_ context.Context, chat groups.JID, id string, s channel.State) error {
	state := Delivered
	if s == channel.StateRead {
		state = Read
	}
	if id == "" {
		return nil
	}
	var found int64
	var position int
	err := o.commit.do(func(t *tx) error {
		var err error
		found, position, err = refine(t, chat, id, state)
		return err
	}, func() {
		switch {
		case found > 0:
			o.mu.Lock()
			if it := o.live[found]; it != nil {
				it.Parts[position].State = state
			}
			o.mu.Unlock()
		case found < 0:
			o.early.put(chat, id, state)
		}
	})
	if err != nil || found <= 0 {
		return err
	}
	return o.notifyID(found)
}

// refine writes the new state and returns which part it is of: 0 where the
// record says as much already, -1 where there is none.
func refine(t *tx, chat groups.JID, id string, state State) (delivery int64, position int, err error) {
	rows, err := t.query(`SELECT p.delivery, p.position, p.state FROM part p JOIN delivery d ON d.id = p.delivery
		WHERE p.receipt = ? AND p.receipt <> '' AND d.chat = ?`, id, string(chat))
	if err != nil {
		return 0, 0, ofDatabase("look for a message", err)
	}
	var was State
	known := rows.Next()
	if known {
		err = rows.Scan(&delivery, &position, &was)
	}
	rows.Close()
	switch {
	case err != nil:
		return 0, 0, ofDatabase("look for a message", err)
	case !known:
		return -1, 0, nil
	case was != Sent && (was != Delivered || state != Read):
		return 0, 0, nil
	}
	_, err = t.exec(`UPDATE part SET state = ? WHERE delivery = ? AND position = ?`, string(state), delivery, position)
	if err == nil {
		_, err = t.exec(`UPDATE delivery SET changed = ? WHERE id = ?`, nano(time.Now()), delivery)
	}
	return delivery, position, ofDatabase("record a receipt", err)
}

// notifyID tells how a recorded delivery stands.
func (o *Outbox) notifyID(id int64) error {
	o.mu.Lock()
	it := o.live[id]
	o.mu.Unlock()
	if it != nil {
		o.notify(it)
		return nil
	}
	o.notifyMu.Lock()
	defer o.notifyMu.Unlock()
	it, err := o.reader.byID(id)
	if err != nil {
		return err
	}
	o.opts.OnUpdate(it.Delivery)
	return nil
}
