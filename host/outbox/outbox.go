// Package outbox keeps what was accepted until it is settled.
//
// From Put on, a delivery is durable: its record in SQLite, its bytes as files
// beside it. The parts of a chat's deliveries go out in the order of
// acceptance, one at a time, through the channel that owns the chat, and no
// chat waits for another. Passing errors are retried with the same message id,
// permanent ones end a part, and every change is told to Options.OnUpdate
// after it is durable.
//
//	outbox/outbox.db        records (WAL, synchronous FULL, commits in groups)
//	outbox/files/<blob>     the bytes of one file, 0600
//	outbox/lock             held while the host runs
//
// # What a crash leaves
//
// A blob is written and synced before the record that names it, and removed
// after the record that no longer needs it; Open removes the blobs that no
// record names. A record in state queued was accepted. Before a channel that
// is a [channel.Asker] is called, the part is durably marked as begun, and
// after a crash the channel is asked about such a part before it is sent
// again. Other channels show the same message id once, so that their parts
// are simply sent again: nothing needs to be written before the attempt, and
// outcomes are recorded in groups while the chat's next parts already go out.
//
// The package does not decide who may send what, and it never opens a
// workspace: the bytes come from the file that the bridge opened.
package outbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// State is how far a part has come.
type State string

// The states of a part. Queued and Sending are open; the others are settled,
// and Sent may still become Delivered or Read.
const (
	Queued    State = "queued"
	Sending   State = "sending" // an attempt is under way, or was when the host died
	Sent      State = "sent"
	Delivered State = "delivered"
	Read      State = "read"
	Failed    State = "failed"
	Uncertain State = "uncertain" // the platform cannot say whether it was shown
	Dropped   State = "dropped"   // by an operator
)

func (s State) open() bool { return s == Queued || s == Sending }

// Delivery is one accepted request, or one thing the host itself says.
type Delivery struct {
	Key     string // 32 lower-case hex digits; the same request seen again after a crash has the same key
	Folder  string // the group it comes from
	Request string // the request's id, under which the result is written; empty for the host's own words
	Channel string
	Chat    groups.JID
	Created time.Time // filled by Put where zero
	Parts   []Part    // sent in order
}

// Open says whether a part is not settled yet.
func (d *Delivery) Open() bool {
	return slices.ContainsFunc(d.Parts, func(p Part) bool { return p.State.open() })
}

// clone is a copy that shares nothing that changes.
func (d *Delivery) clone() Delivery {
	c := *d
	c.Parts = slices.Clone(d.Parts)
	return c
}

// Part is one message of a delivery.
type Part struct {
	MessageID string // 32 lower-case hex digits, filled by Put from Key and position
	Text      string // the text, or the file's caption
	ReplyTo   string
	File      *File // nil for a text; not changed after Put

	State    State
	Attempts int
	Next     time.Time // of the next attempt, while queued after a passing error
	Sent     int64     // bytes, while sending; not durable
	Receipt  channel.Receipt
	Code     string // why it failed, or what the last attempt met
	Message  string // for agent and operator
	Hint     string
}

func (p *Part) size() int64 {
	if p.File == nil {
		return 0
	}
	return p.File.Size
}

func (p *Part) blob() string {
	if p.File == nil {
		return ""
	}
	return p.File.Blob
}

// withoutBlob is the part once its bytes are gone.
func (p Part) withoutBlob() Part {
	if p.File != nil {
		f := *p.File
		f.Blob = ""
		p.File = &f
	}
	return p
}

// File is a file of a part; its bytes lie in the outbox under Blob.
type File struct {
	media.Info
	SHA256 string
	Blob   string // name below outbox/files; empty once the bytes are gone
}

// messageID makes the id under which a part is sent, now and on every retry.
func messageID(key string, position int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", key, position))
	return hex.EncodeToString(sum[:16])
}
