package inbound

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// Kind is what a Message is to the assistant.
type Kind string

// The kinds.
const (
	KindCall    Kind = "call"    // a message that calls the assistant
	KindContext Kind = "context" // a message for it to know when it is called
	KindNotice  Kind = "notice"  // a message of the host to the assistant
	KindEvent   Kind = "event"   // what a member did to a message
	KindTask    Kind = "task"    // a scheduled task that is due
	KindStop    Kind = "stop"    // a member's or the operator's order to end what the assistant does
	KindNew     Kind = "new"     // a member's order to begin a new conversation
)

// Message is what a member wrote or did, or a notice, task or order, until the turn that held it
// has ended.
type Message struct {
	Key       string         `json:"-"`
	Kind      Kind           `json:"kind"`
	Kept      time.Time      `json:"-"`
	Chat      string         `json:"chat,omitempty"` // in which it was written; empty: a notice
	Thread    string         `json:"-"`
	ID        string         `json:"id,omitempty"` // the platform's
	From      string         `json:"from,omitempty"`
	Sender    string         `json:"sender,omitempty"` // by SenderID; in Quote too
	Text      string         `json:"text"`
	Time      time.Time      `json:"time"`
	Quote     *channel.Quote `json:"quote,omitempty"`
	Files     []File         `json:"files,omitempty"`
	Forwarded bool           `json:"forwarded,omitempty"`
	Author    string         `json:"author,omitempty"`   // of what is forwarded
	Event     *Event         `json:"event,omitempty"`    // of KindEvent alone; Text is what it brings
	Quiet     bool           `json:"quiet,omitempty"`    // a notice that goes with the next prompt or follow-up, and is no reason for one
	Isolated  bool           `json:"isolated,omitempty"` // a task that runs in a session of its own

	Acked bool   `json:"acked,omitempty"` // the chat shows that it is worked on
	Order *Order `json:"order,omitempty"` // of a member's order to the host

	Seq       int64     `json:"-"` // its place in the order; set when it is kept
	ArrivedAt time.Time `json:"-"` // when this host kept or read it, with the monotonic clock; zero: as Kept

	// The turn that it is in, and the follow-up that hands it over, as Load finds them.
	Turn, Input string `json:"-"`
}

// Since returns when the message began to wait. Kept may be wrong: the clock may have been set.
func (m *Message) Since() time.Time {
	if m.ArrivedAt.IsZero() {
		return m.Kept
	}
	return m.ArrivedAt
}

// Calls reports whether the message calls the assistant.
func (m *Message) Calls() bool {
	return m.Kind == KindCall || m.Kind == KindTask || m.Kind == KindEvent && m.Event.Starts
}

// QuoteFor returns what the message answers, in the form that an assistant gets, with texts of up to
// limit bytes; nil if it answers nothing.
func (m *Message) QuoteFor(limit int) *ipc.Quote {
	q := m.Quote
	if q == nil {
		return nil
	}
	return &ipc.Quote{
		MessageID: q.ID, From: Visible(OneLine(q.From)), SenderID: q.Sender, Text: Visible(Cut(q.Text, limit)), Selected: Visible(Cut(q.Selected, limit)),
		Own: q.Own && !q.Unverified, Unverified: q.Unverified, Forwarded: q.Forwarded, Elsewhere: q.Elsewhere,
	}
}

// Elsewhere reports whether a Message, Past or PendingFile is from a chat that the group no longer
// has. chat is its Chat, which is empty for a notice. This has nothing to do with assistants elsewhere.
func Elsewhere(chat string, g groups.Group) bool {
	return chat != "" && chat != g.Address().String()
}

// Event is what a member did to a message, or a note.
type Event struct {
	What   channel.Kind `json:"what"`
	Target string       `json:"target"`           // the platform's id of the message, by the member's word; empty: of a note about none
	Starts bool         `json:"starts,omitempty"` // it calls the assistant
}

// Order is the extra part of a member's order to the host. It is kept before it takes effect, and
// until the chat was told the result: if the host is killed in between, the next host carries it out.
type Order struct {
	Whole   bool      `json:"whole,omitempty"`  // it applies to all threads of the chat
	More    bool      `json:"more,omitempty"`   // more words followed it, which are ignored
	Stopped []Stopped `json:"turns,omitempty"`  // the turns under way
	Waited  int       `json:"waited,omitempty"` // waiting messages that will not be answered
}

// Stopped is a turn that an order ends.
type Stopped struct {
	Thread  string    `json:"thread,omitempty"`
	Started time.Time `json:"started"`
}

// File is a member's file: in the inbox, or with the reason why it is not.
type File struct {
	Name    string `json:"name"`
	Kind    string `json:"kind,omitempty"`
	MIME    string `json:"mime,omitempty"`
	Size    int64  `json:"size,omitempty"`
	Path    string `json:"path,omitempty"`    // where the assistant sees it
	Missing string `json:"missing,omitempty"` // why it is not there
	Ref     string `json:"ref,omitempty"`     // the channel's
	Quoted  bool   `json:"quoted,omitempty"`  // it belongs to the message that is answered

	Speech *Speech `json:"speech,omitempty"` // of sound that is transcribed

	Content string `json:"-"` // of a small text file, while it is handed over
}

// Speech is the transcript of a member's voice note, or the reason why there is none.
type Speech struct {
	Text    string `json:"text,omitempty"`
	Seconds int    `json:"seconds,omitempty"`
	Missing string `json:"missing,omitempty"`
}

// Cut shortens a text and says by how much.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head := strings.ToValidUTF8(text[:limit], "")
	return head + " [" + strconv.Itoa(len(text)-len(head)) + " more bytes left out]"
}

// Visible is text without control characters, and without characters that a model reads
// and a person cannot see. Direction marks stay, because Arabic and Hebrew need them.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == 0xfffe || r == 0xffff {
			return -1
		}
		if r == utf8.RuneError {
			return '?'
		}
		return r
	}, media.WithoutHidden(text))
}

// OneLine is text on one line, shortened.
func OneLine(text string) string { return strings.Join(strings.Fields(Cut(text, 500)), " ") }
