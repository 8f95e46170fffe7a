package turns

import (
	"cmp"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/inbound"
)

// record is a message with what this host remembers of it.
type record struct {
	inbound.Message
	fetchedAt time.Time    // when an assistant elsewhere first fetched it from this host; guarded by Manager.mu
	gone      []*record    // what an order has taken out, until it is finished
	waits     map[int]bool // indexes of Files at which no attempt was made yet; guarded by Manager.mu
}

func newRecord(m inbound.Message) *record { return &record{Message: m} }

// messages returns the messages of records.
func messages(records []*record) []*inbound.Message {
	all := make([]*inbound.Message, len(records))
	for i, r := range records {
		all[i] = &r.Message
	}
	return all
}

// turn is what an assistant was given and has not answered yet.
type turn struct {
	ID      string // with it, the assistant's requests are stamped
	Thread  string
	Place   int                // of its assistant
	Started time.Time          // everything sent since then belongs to the turn
	Attempt int                // 0 for the first
	IDs     []int64            // of its records
	Remarks []string           // the keys of the host's own messages in the chat during the turn
	Inputs  map[string][]int64 // by the follow-up's file name, those of IDs that it holds
	records map[int64]*record
}

func newTurn(id, thread string, attempt int) *turn {
	return &turn{
		ID: id, Thread: thread, Started: now(), Attempt: attempt,
		Inputs: map[string][]int64{}, records: map[int64]*record{},
	}
}

// now is truncated to the millisecond, the resolution of times in the outbox: a message
// sent right afterwards must not seem earlier.
func now() time.Time { return time.Now().Truncate(time.Millisecond) }

// add adds records, handed over in the follow-up of that name or, if the name is empty, in
// the prompt.
func (t *turn) add(input string, records []*record) {
	for _, r := range records {
		t.IDs = append(t.IDs, r.Seq)
		t.records[r.Seq] = r
		if input != "" {
			t.Inputs[input] = append(t.Inputs[input], r.Seq)
		}
	}
}

func (t *turn) empty() bool { return len(t.IDs) == 0 }

func (t *turn) holds(r *record) bool { return t.records[r.Seq] != nil }

// unread removes the records of the follow-ups that were not read.
func (t *turn) unread(inputs map[string]bool) (out []*record) {
	for input, ids := range t.Inputs {
		if !inputs[input] {
			continue
		}
		for _, id := range ids {
			if r := t.take(id); r != nil {
				out = append(out, r)
			}
		}
		delete(t.Inputs, input)
	}
	return out
}

// ended removes the records that an output ends: all but those of follow-ups that were not
// read.
func (t *turn) ended(unread map[string]bool) (out []*record) {
	open := map[int64]bool{}
	for input, ids := range t.Inputs {
		if !unread[input] {
			delete(t.Inputs, input)
			continue
		}
		for _, id := range ids {
			open[id] = true
		}
	}
	for _, id := range slices.Clone(t.IDs) {
		if !open[id] {
			out = append(out, t.take(id))
		}
	}
	return out
}

// takeAll removes all records.
func (t *turn) takeAll() []*record { return t.ended(nil) }

func (t *turn) take(id int64) *record {
	r := t.records[id]
	delete(t.records, id)
	t.IDs = slices.DeleteFunc(t.IDs, func(other int64) bool { return other == id })
	return r
}

// before reports whether the turn holds a record from before r, or nothing.
func (t *turn) before(r *record) bool {
	return t.empty() || slices.Min(t.IDs) < r.Seq
}

// places compares records by their places.
func places(a, b *record) int { return cmp.Compare(a.Seq, b.Seq) }

// read reports whether an assistant elsewhere has fetched the record from this host.
func (r *record) read() bool { return !r.fetchedAt.IsZero() }
