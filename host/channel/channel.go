// Package channel is what a chat platform looks like to the host: one
// interface, the message that goes out, the message that comes in, and the
// classes of what can go wrong.
//
// A channel owns its connection, its sessions and its protocol. It knows
// nothing of the queue, of groups' directories or of retries: whoever calls
// Send decides whether to call it again.
package channel

import (
	"context"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/media"
)

// Channel carries messages to and from the chats of one platform. All methods
// may be called from several goroutines at once.
type Channel interface {
	// Name is the channel's key in longshore.yaml: "web", "whatsapp", "slack".
	Name() string

	// Owns says, by form alone, whether a chat belongs to this channel.
	Owns(chat groups.JID) bool

	// Limits is what the platform takes, per kind. It does not change while
	// the channel runs.
	Limits() media.Limits

	// Repeat is what the platform does with a Message.ID that it has had
	// before. It does not change while the channel runs.
	Repeat() Repeat

	// Run keeps the channel connected until ctx is done, which is no error,
	// or until the platform ends it for good. What members write goes to in.
	// What the channel needs, such as files, addresses and goroutines, Run opens
	// and has closed when it returns. It is called once; another call is an
	// error.
	Run(ctx context.Context, in Inbox) error

	// Send sends m and returns once the platform has acknowledged it. An
	// error passes unless it is an *Error that says otherwise; if that has a Form, the
	// caller may send m in a lower form. An error that comes after the deadline of
	// ctx, and a panic, count as Ambiguous. For as long as Repeat says, sending the same Message.ID again shows nothing new. Send does
	// not keep m after it returns.
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
	Poll    *Poll  // Text is a question with these choices; nil: it is none. Never with Files

	// State is what an earlier attempt at this message saved last; nil at the
	// first. A platform that takes several steps for a message goes on with it
	// after the last step that was made.
	State []byte

	// Since is when the attempt began of which nobody knows the end, for a Finder;
	// zero: there is none.
	Since time.Time

	Attempt Attempt // nil: nothing is kept, and nobody watches
}

// Attempt is what a Send reports while it runs.
type Attempt interface {
	// Save keeps Message.State for later attempts, also those of a later host: it is
	// durable when Save returns nil. It takes at most MaxState bytes, and may be
	// called until Send returns, by one goroutine at a time.
	Save(ctx context.Context, state []byte) error

	// Progress takes the bytes of all files sent so far. It returns at once and may be
	// called from any goroutine until Send returns.
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

// After returns the Attempt of one of several files: its progress counts on from before,
// the bytes of those before it.
func After(a Attempt, before int64) Attempt {
	if a == nil {
		return nil
	}
	return after{a, before}
}

type after struct {
	Attempt
	before int64
}

func (a after) Progress(sent int64) { a.Attempt.Progress(a.before + sent) }

// Receipt is the platform's word that it has taken a message.
type Receipt struct {
	ID   string    // the platform's id of the message
	Time time.Time // as the platform says, or when it answered
	Note string    // what the sender should know; may be empty

	// Pending: the platform has the message and does not show it yet. The host
	// does not send it again by itself. It counts as sent once the Finder gives a
	// Receipt that is not Pending, or Inbox.Report says what became of ID. If
	// neither does within 5 minutes, it ends as uncertain: a later Report is
	// ignored, and the operator may have it sent again under the same Message.ID.
	Pending bool
}

// Inbox takes what members write and do, and what their devices report. Both
// methods return when it is kept, and may be called from several goroutines.
type Inbox interface {
	// Receive takes what came in. An error means that it was not kept: the channel
	// gives it again, also after a crash, for a day; then it may drop it. What was
	// kept is not given again but after a crash, or if the channel could not record
	// that it was kept: the host knows it again by chat, sender and ID.
	Receive(ctx context.Context, m Inbound) error
	// Report refines what became of a message that was sent, by its platform id.
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

// Finder is implemented by a channel that can look up afterwards what it sent.
// A channel whose platform knows a Message.ID for ever need not.
type Finder interface {
	// Find looks for a message by its ID. A Receipt means the platform has it; a
	// nil Receipt and no error, that it does not; an error, that nobody knows:
	// not yet, or never if the error is Permanent.
	Find(ctx context.Context, m Message) (*Receipt, error)
}

// MultiSender is implemented by a channel to which several messages cost little more
// than one, since it commits them together. Only a channel whose Repeat is Forever
// may be one: if the host dies, nobody knows how many of the messages were sent.
type MultiSender interface {
	// SendAll sends messages of one chat in their order, one at least, and returns the
	// outcomes of those that it has tried: of the first at least, and of no message
	// without those before it. Each outcome is what Send would have returned, so a
	// message that fails for good holds up no other. But with any other error, with a
	// refused Form, and with a Pending receipt, SendAll ends: nothing overtakes that message. A panic counts
	// as Ambiguous for all messages. The deadline of ctx is that of all together.
	//
	// The messages have no State, Since or Attempt.
	SendAll(ctx context.Context, ms []Message) []Outcome
}

// Preparer is implemented by a channel that can do a part of a Send that no member sees,
// such as to upload the files. Prepare may be repeated at any time: if the host dies
// meanwhile, the message was not sent.
type Preparer interface {
	// Prepare is called before a Send of a message with files. Its errors have the
	// classes of those of Send; one that is Ambiguous passes.
	Prepare(ctx context.Context, m Message) error
}

// Outcome is what Send returns.
type Outcome struct {
	Receipt Receipt
	Err     error
}

// Last says that SendAll ends with this outcome.
func (o Outcome) Last() bool {
	return o.Receipt.Pending || o.Err != nil && (ClassOf(o.Err) != Permanent || FormOf(o.Err) != "")
}

// Opener is implemented by a channel that takes what another program may have,
// such as an address.
type Opener interface {
	// Open takes it before Run, so that whoever starts the host reads at once why
	// that is not possible. Run opens by itself what is not open.
	Open(ctx context.Context) error
	// Close frees what Open took and Run has not freed. The host calls it at its
	// end, whether the channel was run or not; after Run there is nothing left to do.
	Close() error
}

// Status is implemented by a channel that has a connection to speak of.
type Status interface {
	// Connected says whether a Send now would reach the platform, and in
	// detail what an operator should know or do otherwise.
	Connected() (ok bool, detail string)
}

// Typing is implemented by a channel that can show that somebody is writing.
type Typing interface {
	// Typing shows or hides it in a thread of the chat or, if thread is empty, in
	// the chat itself; errors are the channel's own to log.
	Typing(ctx context.Context, chat groups.JID, thread string, on bool)
}

// Lister is implemented by a channel whose account can say which chats it is in.
type Lister interface {
	// Chats asks the platform, sorted by name.
	Chats(ctx context.Context) ([]Chat, error)
}

// Unpairer is implemented by a channel whose account can be unlinked.
type Unpairer interface {
	// Unpair unlinks this host from the account and forgets its keys, whether
	// the channel runs or not. One that runs waits for another account.
	Unpair(ctx context.Context) error
}

// Chat is a chat that the channel's account is in.
type Chat struct {
	JID     groups.JID `json:"jid"`
	Name    string     `json:"name"` // as its admins call it: foreign text
	Members int        `json:"members"`
	Note    string     `json:"note,omitempty"` // what an operator should know: only admins write there
}
