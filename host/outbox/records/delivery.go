// Package records has the outbox's deliveries as the state keeps them: their types, and every
// statement on their tables. Package outbox decides what is written, and when; a [Reader] only looks.
//
// What takes a [state.Tx] is one step of a change, which the caller commits.
package records

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
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

// Open reports whether a part may still be sent, or shown.
func (s State) Open() bool { return s == Queued || s == Sending || s == Pending }

// Sent reports whether the chat has the part.
func (s State) Sent() bool { return s == Sent || s == Delivered || s == Read }

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
	Approval *Ask      // for Put: what it waits for before any of it is sent; nil: nothing. Not read again
	Asks     *Ask      // for Put: what its Question asks; nil: it has none, or shows an Ask that is recorded. Not read again
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
	return slices.ContainsFunc(d.Parts, func(p Part) bool { return p.State.Open() || p.State == Waiting })
}

// Clone returns a copy that shares nothing that changes.
func (d *Delivery) Clone() Delivery {
	c := *d
	c.Parts = slices.Clone(d.Parts)
	return c
}

// Blobs returns the names of the files that hold the delivery's bytes.
func (d *Delivery) Blobs() (names []string) {
	names = d.FileBlobs()
	for i := range d.Parts {
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

// Blobs returns the names of the files that hold the part's bytes. Once the bytes are
// deleted, there are none.
func (p *Part) Blobs() (names []string) {
	for i := range p.Files {
		if b := p.Files[i].Blob; b != "" {
			names = append(names, b)
		}
	}
	return names
}

// WithoutBlobs returns the part without its bytes.
func (p Part) WithoutBlobs() Part {
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

// MessageID makes the id under which a part is sent, now and on every retry.
func MessageID(key string, position int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", key, position))
	return hex.EncodeToString(sum[:16])
}

// Waits reports whether the delivery waits for an approval.
func (d *Delivery) Waits() bool {
	return slices.ContainsFunc(d.Parts, func(p Part) bool { return p.State == Waiting })
}

// FileBlobs returns the names of the bytes of the parts' own files.
func (d *Delivery) FileBlobs() (names []string) {
	for i := range d.Parts {
		names = append(names, d.Parts[i].Blobs()...)
	}
	return names
}

// AllFiles returns the files of a delivery, with those that are sent as links.
func (d *Delivery) AllFiles() (all []File) {
	for _, p := range d.Parts {
		all = append(all, p.Files...)
		if p.Link != nil {
			all = append(all, p.Link.File)
		}
	}
	return all
}

// Record is a delivery with what only its record has.
type Record struct {
	Delivery
	ID   int64
	Turn int64         // the order within a chat; a retry gets a new one
	Held time.Duration // the channel's total when it was accepted

	Small []File // for Insert: the files whose bytes it has to record
}

// The codes of parts that were not sent. They are for agents and operators.
const (
	CodeAwaiting        = "awaiting_approval"
	CodeNotApproved     = "not_approved"
	CodeApprovalExpired = "approval_expired"
	CodeNotSent         = "not_sent" // of a change of a message that the chat never got

	codeLostBytes = "lost_bytes"
	codeCancelled = "dropped"
)

// The errors that a caller branches on.
var (
	ErrNotFound  = errors.New("no such delivery in the outbox")
	ErrAmbiguous = errors.New("more than one delivery begins with that; give more of the key")
	ErrOpen      = errors.New("the delivery is still on its way")
	ErrSettled   = errors.New("the delivery is already settled")
	ErrNoBytes   = errors.New("the delivery's bytes are no longer kept; its request must be made anew")
	ErrDecided   = errors.New("the delivery waits for no approval, or no longer")
	ErrNoLink    = errors.New("there is no such link") // or no longer
)

// BytesOf returns the bytes of a small file that Insert has not recorded yet, else nil.
func (r *Record) BytesOf(name string) []byte {
	for _, f := range r.Small {
		if f.Blob == name {
			return f.Bytes
		}
	}
	return nil
}
