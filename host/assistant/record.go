package assistant

import (
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
	Key       string         `json:"key"`
	Kind      kind           `json:"kind"`
	Kept      time.Time      `json:"kept"`
	Chat      string         `json:"chat,omitempty"` // in which it was written; empty: by a program before, or a notice
	Thread    string         `json:"thread,omitempty"`
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
	name      string       // of its file in the store
	waits     map[int]bool // indexes of Files at which no attempt was made yet; guarded by Manager.mu
}

// since is since when the record waits. Kept gives a record its place, and the clock may
// have been set back or ahead since.
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
	ID      string              `json:"id"` // with it, the assistant's requests are stamped
	Thread  string              `json:"thread,omitempty"`
	Place   int                 `json:"place,omitempty"` // of its assistant
	Started time.Time           `json:"started"`         // everything sent since then belongs to the turn
	Attempt int                 `json:"attempt"`         // 0 for the first
	Names   []string            `json:"records"`
	Remarks []string            `json:"remarks,omitempty"` // the keys of the host's own messages in the chat during the turn
	Inputs  map[string][]string `json:"inputs,omitempty"`  // by the follow-up's file name, those of Names that it holds

	records map[string]*record
}

func newTurn(id, thread string, attempt int) *turn {
	return &turn{
		ID: id, Thread: thread, Started: now(), Attempt: attempt,
		Inputs: map[string][]string{}, records: map[string]*record{},
	}
}

// now is truncated to the millisecond, the resolution of times in the outbox: a message
// sent right afterwards must not seem earlier.
func now() time.Time { return time.Now().Truncate(time.Millisecond) }

// add adds records, handed over in the follow-up of that name or, if the name is empty, in
// the prompt.
func (t *turn) add(input string, records []*record) {
	for _, r := range records {
		t.Names = append(t.Names, r.name)
		t.records[r.name] = r
		if input != "" {
			t.Inputs[input] = append(t.Inputs[input], r.name)
		}
	}
}

// resolve finds the records of a turn that was read from disk. A record that is missing
// has ended.
func (t *turn) resolve(kept []*record) {
	t.records = map[string]*record{}
	for _, r := range kept {
		if slices.Contains(t.Names, r.name) {
			t.records[r.name] = r
		}
	}
	t.Names = slices.DeleteFunc(t.Names, func(n string) bool { return t.records[n] == nil })
}

func (t *turn) empty() bool { return len(t.Names) == 0 }

func (t *turn) holds(r *record) bool { return t.records[r.name] != nil }

// unread removes the records of the follow-ups that were not read.
func (t *turn) unread(inputs map[string]bool) (out []*record) {
	for input, names := range t.Inputs {
		if !inputs[input] {
			continue
		}
		for _, name := range names {
			if r := t.take(name); r != nil {
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
	open := map[string]bool{}
	for input, names := range t.Inputs {
		if !unread[input] {
			delete(t.Inputs, input)
			continue
		}
		for _, name := range names {
			open[name] = true
		}
	}
	for _, name := range slices.Clone(t.Names) {
		if !open[name] {
			out = append(out, t.take(name))
		}
	}
	return out
}

// all removes all records.
func (t *turn) all() []*record { return t.ended(nil) }

func (t *turn) take(name string) *record {
	r := t.records[name]
	delete(t.records, name)
	t.Names = slices.DeleteFunc(t.Names, func(n string) bool { return n == name })
	return r
}
