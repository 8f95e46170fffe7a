package turns

import (
	"cmp"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// kind is what a record is to the assistant.
type kind string

const (
	callKind    kind = "call"    // a message that calls the assistant
	contextKind kind = "context" // a message for it to know when it is called
	noticeKind  kind = "notice"  // the host's own word
	eventKind   kind = "event"   // what a member did to a message
	taskKind    kind = "task"    // a scheduled task that is due
)

// record is a member's message, or a notice of the host, until the turn that held it has
// ended.
type record struct {
	Key       string         `json:"-"`
	Kind      kind           `json:"kind"`
	Kept      time.Time      `json:"-"`
	Chat      string         `json:"chat,omitempty"` // in which it was written; empty: a notice
	Thread    string         `json:"-"`
	ID        string         `json:"id,omitempty"` // the platform's
	From      string         `json:"from,omitempty"`
	Sender    string         `json:"sender,omitempty"` // by senderID; in Quote too
	Text      string         `json:"text"`
	Time      time.Time      `json:"time"`
	Quote     *channel.Quote `json:"quote,omitempty"`
	Files     []file         `json:"files,omitempty"`
	Forwarded bool           `json:"forwarded,omitempty"`
	Author    string         `json:"author,omitempty"`   // of what is forwarded
	Event     *event         `json:"event,omitempty"`    // of eventKind alone; Text is what it brings
	Quiet     bool           `json:"quiet,omitempty"`    // a notice that goes with the next prompt or follow-up, and is no reason for one
	Isolated  bool           `json:"isolated,omitempty"` // a task that runs in a session of its own

	Acked bool   `json:"acked,omitempty"` // the chat shows that it is worked on
	Order *order `json:"order,omitempty"` // of a member's order to the host

	arrivedAt time.Time    // when this host kept or read it, with the monotonic clock; zero: as Kept
	fetchedAt time.Time    // when an assistant elsewhere first fetched it from this host; guarded by Manager.mu
	gone      []*record    // what an order has taken out, until it is finished
	id        int64        // in the state; gives a record its place
	waits     map[int]bool // indexes of Files at which no attempt was made yet; guarded by Manager.mu
}

// since is since when the record waits. The clock may have been set back or ahead since Kept.
func (r *record) since() time.Time {
	if r.arrivedAt.IsZero() {
		return r.Kept
	}
	return r.arrivedAt
}

// elsewhere reports whether a record or want is from another chat than the group's.
func elsewhere(chat string, g groups.Group) bool {
	return chat != "" && chat != g.Address().String()
}

func (r *record) calls() bool {
	return r.Kind == callKind || r.Kind == taskKind || r.Kind == eventKind && r.Event.Starts
}

// file is a member's file: in the inbox, or with the reason why it is not.
type file struct {
	Name    string `json:"name"`
	Kind    string `json:"kind,omitempty"`
	MIME    string `json:"mime,omitempty"`
	Size    int64  `json:"size,omitempty"`
	Path    string `json:"path,omitempty"`    // where the assistant sees it
	Missing string `json:"missing,omitempty"` // why it is not there
	Ref     string `json:"ref,omitempty"`     // the channel's
	Quoted  bool   `json:"quoted,omitempty"`  // it belongs to the message that is answered

	Speech *speech `json:"speech,omitempty"` // of sound that is transcribed

	content string // of a small text file, while it is handed over
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
		t.IDs = append(t.IDs, r.id)
		t.records[r.id] = r
		if input != "" {
			t.Inputs[input] = append(t.Inputs[input], r.id)
		}
	}
}

func (t *turn) empty() bool { return len(t.IDs) == 0 }

func (t *turn) holds(r *record) bool { return t.records[r.id] != nil }

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

// all removes all records.
func (t *turn) all() []*record { return t.ended(nil) }

func (t *turn) take(id int64) *record {
	r := t.records[id]
	delete(t.records, id)
	t.IDs = slices.DeleteFunc(t.IDs, func(other int64) bool { return other == id })
	return r
}

// before reports whether the turn holds a record from before r, or nothing.
func (t *turn) before(r *record) bool {
	return t.empty() || slices.Min(t.IDs) < r.id
}

// places compares records by their places.
func places(a, b *record) int { return cmp.Compare(a.id, b.id) }
