// Package outbox keeps accepted deliveries and sends them.
//
// From Put on, a delivery is durable: its record in SQLite, its bytes there too or,
// if they are many, as files beside it. The parts of a chat's deliveries go out in the order of
// acceptance, one at a time, through the channel that owns the chat, and no
// chat waits for another. Passing errors are retried with the same message id,
// permanent ones end a part, and [Outbox.Next] hands out every delivery that
// changed, after the change is durable.
//
// Records and bytes lie in the host's state, see package state.
//
// # Where to read
//
// The files follow a delivery's life:
//
//	outbox.go   the terms, and the options
//	open.go     start and recovery; the locks
//	put.go      acceptance
//	store.go    the records
//	lane.go     the chats that wait
//	dispatch.go which chat is next
//	attempt.go  one attempt at one part
//	together.go several parts in one call, and what is sent in the commit that accepts it
//	outcome.go  the outcome of an attempt, and its record
//	question.go questions and their answers
//	act.go      parts that change a message
//	receipt.go  later reports about a part
//	changes.go  reports of changes to the bridge
//	approval.go what waits for somebody's yes
//	link.go     files behind addresses, for chats that do not take their size
//	operate.go  the operator's actions, and expiry
//	read.go     lists and figures
//
// # What a crash leaves
//
// A small file's bytes are in the database, and come and go with the record that
// names them. A larger file is written and synced before the record that names it,
// and removed after the record that no longer needs it; the state moves the files that no
// record names aside when it opens, for a week. A record in state queued was accepted. Most
// channels show the same message id once, so their parts are simply sent again:
// nothing needs to be written before the attempt, and outcomes are recorded in
// groups while the chat's next parts already go out. For a channel that
// promises less the part is durably marked as in doubt before each attempt, and
// a clear answer takes the mark away. A part in doubt is resolved before it is
// sent again: a [channel.Finder] is asked; a platform with keys has the same id
// again as long as it knows the id. If neither helps, the part ends as
// uncertain. The messages of a [channel.StateSender] and their outcomes are one
// commit: no part is in doubt there. If nothing of the chat waits, and no large file is to
// be copied, that is the commit that accepts them.
//
// The package does not decide who may send what, and it never opens a
// workspace: the bytes come from the file that the bridge opened.
package outbox

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/media"
)

// State is how far a part has come.
type State string

// The states of a part. Queued, Sending and Pending are open, and Waiting may become so.
// The others are ends, but Sent may still become Delivered or Read.
const (
	Queued    State = "queued"
	Sending   State = "sending" // an attempt is under way, or was when the host died
	Waiting   State = "waiting" // for an approval; in no lane
	Pending   State = "pending" // the platform has it and does not show it yet; it is not sent again
	Sent      State = "sent"
	Delivered State = "delivered"
	Read      State = "read"
	Failed    State = "failed"
	Uncertain State = "uncertain" // nobody can say whether it was shown
	Cancelled State = "dropped"   // by an operator
	Refused   State = "refused"   // nobody approved it
)

func (s State) open() bool { return s == Queued || s == Sending || s == Pending }
func (s State) sent() bool { return s == Sent || s == Delivered || s == Read }

// Delivery is one accepted request, or one thing the host itself says.
type Delivery struct {
	Key      string // 32 lower-case hex digits; the same request seen again after a crash has the same key
	Folder   string // the group it comes from
	Request  string // the request's id, under which the result is written; empty for the host's own words
	Channel  string
	Chat     groups.JID
	Thread   string    // of the chat, as the platform calls it; empty: the chat itself
	Asked    time.Time // when the request was written, however long it then waited in the queue; Created if zero
	Created  time.Time // when it was accepted, or is tried anew by an operator; filled by Put if zero
	Batch    bool      // its request wants its result in a batch
	Bound    string    // the one conversation of its group that asked for it; empty: the whole group. See [groups.Asker]
	Parts    []Part    // sent in order
	Approval *Approval // for Put: what it waits for; nil: nothing. Not read again
}

// Address returns the chat that the delivery goes to.
func (d *Delivery) Address() groups.Address { return groups.Address{Channel: d.Channel, JID: d.Chat} }

// Removes reports whether the delivery only takes away: it makes nothing appear in its chat.
func (d *Delivery) Removes() bool {
	return !slices.ContainsFunc(d.Parts, func(p Part) bool {
		return p.Act == nil || p.Act.Verb != VerbUnsend && (p.Act.Verb != VerbReact || p.Act.Emoji != "")
	})
}

// Open reports whether a part is still open, or waits for an approval.
func (d *Delivery) Open() bool {
	return slices.ContainsFunc(d.Parts, func(p Part) bool { return p.State.open() || p.State == Waiting })
}

// clone returns a copy that shares nothing that changes.
func (d *Delivery) clone() Delivery {
	c := *d
	c.Parts = slices.Clone(d.Parts)
	return c
}

// blobs returns the names of the files that hold the delivery's bytes.
func (d *Delivery) blobs() (names []string) {
	for i := range d.Parts {
		names = append(names, d.Parts[i].blobs()...)
		if l := d.Parts[i].Link; l != nil {
			names = append(names, l.File.Blob)
		}
	}
	return names
}

// Part is one message of a delivery.
type Part struct {
	MessageID string // 32 lower-case hex digits, filled by Put from Key and position
	Text      string // the text, or the files' caption
	Written   string // for Put: the Markdown of which Text is made; empty: Text itself. Not read again but by [Reader.Said]
	ReplyTo   string
	Files     []File    // none for a text; changed after Put only if a platform refuses their form
	Act       *Act      // of a message that the chat has; nil: the part is a message. Without Files
	Question  *Question // Text asks it; nil: the part asks nothing. Without Files
	Link      *Link     // Text has its address; nil: the part has none. Without Files
	Asks      string    // the id of the approval that the host's Text asks for in words; empty: none. Without Files

	Host bool // Text is the host's own words. Without Files

	Unthreaded bool // it goes to the chat itself: the platform refused the delivery's thread

	State    State
	Attempts int
	Next     time.Time // of the next attempt, while queued after a passing error
	Sent     int64     // bytes, while sending; not durable
	Receipt  channel.Receipt
	Doubt    time.Time // the first attempt that the platform may have shown without saying so; zero: none
	// When the host heard that a member's device had it, and that a member had read it:
	// of several members, the first. Zero: it did not.
	DeliveredAt, ReadAt time.Time

	Shown   State  // what Report said of a part that is Pending; empty: nothing
	Saved   []byte // what the channel keeps for the next attempt; nil: nothing
	Code    string // why it failed, or what the last attempt met
	Message string // for agent and operator
	Hint    string
}

// Says returns what people read of a part: its text, or its reaction.
func (p *Part) Says() string {
	if p.Act != nil && p.Act.Emoji != "" {
		return "reaction: " + p.Act.Emoji
	}
	return p.Text
}

// Size returns the bytes of the part's files.
func (p *Part) Size() (n int64) {
	for i := range p.Files {
		n += p.Files[i].Size
	}
	return n
}

// blobs returns the names of the files that hold the part's bytes. Once the bytes are
// deleted, there are none.
func (p *Part) blobs() (names []string) {
	for i := range p.Files {
		if b := p.Files[i].Blob; b != "" {
			names = append(names, b)
		}
	}
	return names
}

// withoutBlobs returns the part without its bytes.
func (p Part) withoutBlobs() Part {
	p.Files = slices.Clone(p.Files)
	for i := range p.Files {
		p.Files[i].Blob = ""
	}
	return p
}

// File is a file of a part; its bytes lie in the outbox under Blob.
type File struct {
	media.Info
	SHA256 string
	Blob   string   // its name, see package blob; empty once the bytes are gone
	Bytes  []byte   // of a small Blob, for Put; nil otherwise
	Names  []string // by which it is judged beside Name; nil once the delivery needs no approval
}

// messageID makes the id under which a part is sent, now and on every retry.
func messageID(key string, position int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", key, position))
	return hex.EncodeToString(sum[:16])
}

// The codes that the outbox itself gives. They are for agents and operators;
// nothing here branches on them.
const (
	codeDeadline     = "deadline"
	codeAmbiguous    = "no_answer"
	codeFailed       = "send_failed"
	codeNoChannel    = "no_channel"
	codeLostBytes    = "lost_bytes"
	codeCancelled    = "dropped"
	codeNotSupported = "not_supported"

	CodeAwaiting        = "awaiting_approval"
	CodeNotApproved     = "not_approved"
	CodeApprovalExpired = "approval_expired"
)

// The errors that a caller branches on.
var (
	ErrChanged   = blob.ErrChanged // passes: open the file again and copy anew
	ErrNotFound  = errors.New("no such delivery in the outbox")
	ErrAmbiguous = errors.New("more than one delivery begins with that; give more of the key")
	ErrOpen      = errors.New("the delivery is still on its way")                                       // Retry, Dismiss
	ErrSettled   = errors.New("the delivery is already settled")                                        // Cancel, Retry, Dismiss
	ErrSending   = errors.New("the delivery is being sent right now")                                   // Cancel; passes
	ErrNoBytes   = errors.New("the delivery's bytes are no longer kept; its request must be made anew") // Retry
)

// ofDatabase adds words that people understand to an error of the database.
func ofDatabase(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", op, store.Words(err))
}

// Options says how an outbox works. Only State is needed: every other zero value
// stands for the default that its comment names.
type Options struct {
	State    *state.DB
	Channels []channel.Channel // found by Delivery.Channel
	Log      *slog.Logger      // nil discards

	// Trace is called at each step of a part: "sending", "acknowledged",
	// "settled" (its outcome is recorded). It may be called from several goroutines.
	Trace func(folder, request, step string)

	Settings Settings // nil: the defaults

	SendTimeout time.Duration // for one attempt, on top of a second per 128 KiB of file; 1 min
	Stall       time.Duration // without progress, after which a send no longer counts as one of Parallel; 10 s
	HoldFor     time.Duration // between attempts on a held channel that has no Status; 30 s
}

// Settings are asked at each use: an operator may change the answers while the outbox runs.
// They must not wait.
type Settings interface {
	OutboxLimits() Limits
	SendRate(folder string) Rate // of a group's attempts; a zero Rate: unlimited
}

// Fixed are Settings that never change.
type Fixed struct {
	Limits Limits
	Rate   Rate // of each group
}

// OutboxLimits implements Settings.
func (f Fixed) OutboxLimits() Limits { return f.Limits }

// SendRate implements Settings.
func (f Fixed) SendRate(string) Rate { return f.Rate }

// Limits bound what waits, and how long and how often it is tried. Zero values
// stand for the defaults that the comments name.
type Limits struct {
	Backoff      Backoff
	MaxAge       time.Duration // from acceptance to giving up, time held not counted; 24 h
	Parallel     int           // sends in flight per channel; 4
	QuotaPending int           // open parts per group; 64
	QuotaBytes   int64         // of the open files of a group, and once more of its failed ones; 256 MiB
	FreeDisk     int64         // bytes of the disk that are never used; 0: none
	Retention    time.Duration // of the records of deliveries that ended, and of the bytes of failed parts; 7 days
}

// Backoff is how long a chat waits after an error that passes: Initial, times Multiplier
// for each further attempt, at most Max, randomly moved by up to the fraction Jitter.
type Backoff struct {
	Initial    time.Duration // 1 s
	Max        time.Duration // 5 min
	Multiplier float64       // 2
	Jitter     float64       // 0.2; negative for none
}

// after returns the wait that follows the given attempt, counted from 1.
func (b Backoff) after(attempt int) time.Duration {
	d := float64(b.Initial) * math.Pow(b.Multiplier, float64(max(attempt, 1)-1))
	d = min(d, float64(b.Max))
	if b.Jitter > 0 {
		d *= 1 + b.Jitter*(2*rand.Float64()-1)
	}
	return time.Duration(d)
}

// Rate bounds a group's attempts to send.
type Rate struct {
	PerMinute float64 // 0: unlimited
	Burst     int     // at least 1
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Trace == nil {
		o.Trace = func(string, string, string) {}
	}
	if o.Settings == nil {
		o.Settings = Fixed{}
	}
	o.SendTimeout = cmp.Or(o.SendTimeout, time.Minute)
	o.Stall = cmp.Or(o.Stall, 10*time.Second)
	o.HoldFor = cmp.Or(o.HoldFor, 30*time.Second)
	return o
}

// limits returns the limits as they are now.
func (o *Outbox) limits() Limits {
	l := o.opts.Settings.OutboxLimits()
	l.MaxAge = cmp.Or(l.MaxAge, 24*time.Hour)
	l.Parallel = cmp.Or(l.Parallel, 4)
	l.QuotaPending = cmp.Or(l.QuotaPending, 64)
	l.QuotaBytes = cmp.Or(l.QuotaBytes, 256<<20)
	l.Retention = cmp.Or(l.Retention, 7*24*time.Hour)
	l.Backoff.Initial = cmp.Or(l.Backoff.Initial, time.Second)
	l.Backoff.Max = cmp.Or(l.Backoff.Max, 5*time.Minute)
	l.Backoff.Multiplier = cmp.Or(l.Backoff.Multiplier, 2)
	l.Backoff.Jitter = cmp.Or(l.Backoff.Jitter, 0.2)
	return l
}
