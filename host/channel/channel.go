// Package channel defines how the host sees a chat platform: the Channel, the message that goes
// out, the message that comes in, and the classes of errors.
//
// A channel owns its connection, its sessions and its protocol. It knows nothing of the queue,
// of groups' directories or of retries: the caller of Send decides whether to call it again.
package channel

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/media"
)

// Channel carries messages to and from the chats of one account. All methods may be called
// from several goroutines at once.
type Channel interface {
	// Name returns the channel's key in longshore.yaml: "web", "whatsapp", "slack".
	Name() string

	// Owns reports, by form alone, whether a chat is one of the platform's.
	Owns(chat groups.JID) bool

	// Limits returns what the platform takes, per kind. It does not change while the channel runs.
	Limits() media.Limits

	// Repeat returns what the platform does with a Message.ID that it has had before. It does
	// not change while the channel runs.
	Repeat() Repeat

	// Run keeps the channel connected until ctx is done, which is no error, or until the
	// platform ends it for good. What members write goes to in. Run opens the files, addresses
	// and goroutines that the channel needs, and has closed them when it returns. A second call
	// is an error.
	Run(ctx context.Context, in Inbox) error

	// Send sends m and returns once the platform has acknowledged it. An error is Passing unless it
	// is an *Error of another class. If that has a Form, the caller may send m in a lower form. An
	// error after the deadline of ctx, and a panic, count as Ambiguous. For as long as Repeat says,
	// a second Send of a Message.ID shows nothing new. Send does not keep m after it returns.
	Send(ctx context.Context, m Message) (Receipt, error)
}

// Message is one thing that appears in a chat: a text, or files with a text.
type Message struct {
	ID      string // made before the first attempt, the same on every retry; 32 lower-case hex digits
	Chat    groups.JID
	Thread  string // the platform's id of the thread; empty: the chat itself. Never set unless Limits.Threads
	Text    string // the text, or what stands with Files
	Files   []File // none for a text; at most Limits.Files
	ReplyTo string // the platform's id of the message that is answered; may be empty
	Poll    *Poll  // the choices, if Text is a question; else nil. Never with Files

	// State is what an earlier attempt saved last; nil if nothing. A platform that takes a
	// message in several steps goes on after the step that State tells.
	State []byte

	// Since is, for a Finder, when the attempt began whose outcome is not known; zero: none.
	Since time.Time

	Attempt Attempt // takes State and the progress; may be nil
}

// Attempt takes what a Send reports while it runs.
type Attempt interface {
	// Save keeps Message.State for later attempts, also those of a later process: the state is
	// durable when Save returns nil. Save takes at most MaxState bytes. It may be called until
	// Send returns, by one goroutine at a time.
	Save(ctx context.Context, state []byte) error

	// Progress takes the number of file bytes sent so far. It returns at once and may be called
	// from any goroutine until Send returns.
	Progress(sent int64)
}

// MaxState is how many bytes Attempt.Save takes.
const MaxState = 4 << 10

// Save calls Attempt.Save, if there is an Attempt.
func (m *Message) Save(ctx context.Context, state []byte) error {
	if m.Attempt == nil {
		return nil
	}
	return m.Attempt.Save(ctx, state)
}

// Progress calls Attempt.Progress, if there is an Attempt.
func (m *Message) Progress(sent int64) {
	if m.Attempt != nil {
		m.Attempt.Progress(sent)
	}
}

// Uploads calls up with each file from the first-th on, for a platform that takes the bytes of one after
// another. The progress of the Attempt that it gets counts on from the files before.
func (m *Message) Uploads(first int, up func(i int, f File, a Attempt) error) error {
	before := int64(0)
	for i, f := range m.Files {
		if i >= first {
			if err := up(i, f, After(m.Attempt, before)); err != nil {
				return err
			}
		}
		before += f.Size
		m.Progress(before)
	}
	return nil
}

// After returns the Attempt of one of several files. Its progress counts on from before, the
// bytes of the files that went first.
func After(a Attempt, before int64) Attempt { return after{&Message{Attempt: a}, before} }

type after struct {
	*Message
	before int64
}

func (a after) Progress(sent int64) { a.Message.Progress(a.before + sent) }

// Receipt says that the platform has taken a message.
type Receipt struct {
	ID   string    // the platform's id of the message
	Time time.Time // as the platform says, or when it answered
	Note string    // what the sender should know; may be empty

	// Pending means that the platform has the message and does not show it yet. The host does
	// not send it again by itself. It counts as sent once the Finder returns a Receipt that is
	// not Pending, or Inbox.Report gives a state for ID. If neither happens within 5 minutes,
	// the message is uncertain: a later Report is ignored, and the operator may have it sent
	// again under the same Message.ID.
	Pending bool
}

// Inbox takes what members write and do, and what their devices report. Both methods return
// once it is durable, and may be called from several goroutines.
type Inbox interface {
	// Receive takes what came in. After an error, the channel gives it again for a day, also after
	// a crash; then the channel may discard it. What has no Entry may be given again after nil:
	// the host recognizes it by chat, sender and ID.
	Receive(ctx context.Context, m Inbound) error
	// Report gives the new state of a message that was sent, by its platform id.
	Report(ctx context.Context, chat groups.JID, id string, state State)
}

// State is what became of a message that was sent.
type State string

// The states that refine a receipt.
const (
	StateSent      State = "sent" // the platform shows what was Pending
	StateDelivered State = "delivered"
	StateRead      State = "read"
)

// Finder is implemented by a channel that can look up what it sent. A channel whose platform
// knows a Message.ID for ever need not implement it.
type Finder interface {
	// Find looks for a message by its ID. It returns a Receipt if the platform has the message,
	// nil and no error if it does not, and an error if that is not known: not yet, or never if
	// the error is Permanent.
	Find(ctx context.Context, m Message) (*Receipt, error)
}

// MultiSender is implemented by a channel for which several messages cost little more than
// one, since it commits them together. Its Repeat must be Forever: if the host dies, nobody
// knows how many of the messages were sent.
type MultiSender interface {
	// SendAll sends one or more messages of one chat in their order, and returns the outcomes
	// of the first n, at least one. An outcome is what Send would return. SendAll goes on after
	// a Permanent error. It ends at any other error, a refused Form or a Pending receipt, so
	// that nothing overtakes that message. A panic counts as Ambiguous for all messages. The
	// deadline of ctx is for all of them.
	SendAll(ctx context.Context, ms []Message) []Outcome
}

// StateSender is implemented by a MultiSender whose messages are in the host's state.
type StateSender interface {
	MultiSender
	// SendRecorded is SendAll with a record. If it makes messages durable, it calls Record in the
	// same change of the state, with what it will return, and Recorded after that change, before
	// members see the messages. After an error of Record, none of the messages is sent.
	SendRecorded(ctx context.Context, ms []Message, r Recorder) []Outcome
}

// Recorder writes a record of messages that are sent: both are durable, or neither.
type Recorder interface {
	Record(t *state.Tx, outs []Outcome) error // may be called again, see [state.DB.Do]
	Recorded()
}

// Preparer is implemented by a channel that can do a part of a Send that no member sees, such
// as uploading the files. Prepare may be repeated: it sends nothing.
type Preparer interface {
	// Prepare is called before a Send of a message with files. Its errors have the classes of
	// Send, but one that is Ambiguous counts as Passing.
	Prepare(ctx context.Context, m Message) error
}

// Outcome is what Send returned for one message.
type Outcome struct {
	Receipt Receipt
	Err     error
}

// Last reports whether SendAll ends at this outcome.
func (o Outcome) Last() bool {
	return o.Receipt.Pending || o.Err != nil && (ClassOf(o.Err) != Permanent || FormOf(o.Err) != "")
}

// Opener is implemented by a channel that needs what another program may hold, such as an address.
type Opener interface {
	// Open takes it before Run, so that it is there as soon as the host is. Without Open, or after
	// its error, Run takes it, again and again.
	Open(ctx context.Context) error
	// Close frees what Open took and Run has not freed. The host calls it at its end, whether
	// the channel was run or not.
	Close() error
}

// Status is implemented by a channel that keeps a connection.
type Status interface {
	// Connected reports whether a Send now would reach the platform. detail is what an operator
	// should know or do.
	Connected() (ok bool, detail string)
}

// Shared is implemented by a channel whose platform says that another program has connected by the same
// token. Each program then gets a part of what members write.
type Shared interface {
	Shared() bool
}

// Typing is implemented by a channel that can show that somebody is writing.
type Typing interface {
	// Typing shows or hides it in a thread of the chat or, if thread is empty, in the chat
	// itself. The channel logs errors.
	Typing(ctx context.Context, chat groups.JID, thread string, on bool)
}

// Lister is implemented by a channel whose account can say which chats it is in.
type Lister interface {
	// Chats asks the platform. The chats are sorted by name.
	Chats(ctx context.Context) ([]Chat, error)
}

// Unpairer is implemented by a channel whose account can be unlinked.
type Unpairer interface {
	// Unpair unlinks this host from the account and deletes its keys, whether the channel runs
	// or not. A channel that runs waits for another account.
	Unpair(ctx context.Context) error
}

// Chat is a chat that the channel's account is in.
type Chat struct {
	JID     groups.JID `json:"jid"`
	Name    string     `json:"name"` // as its admins call it: foreign text
	Members int        `json:"members"`
	Note    string     `json:"note,omitempty"` // what an operator should know: only admins write there
}

// SortChats sorts chats by their names.
func SortChats(all []Chat) {
	slices.SortFunc(all, func(a, b Chat) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(string(a.JID), string(b.JID)))
	})
}
