// Package outbox keeps what was accepted until it is settled.
//
// From Put on, a delivery is durable: its record in SQLite, its bytes as files
// beside it. One worker a chat sends the parts in order through the channel
// that owns the chat; passing errors are retried with the same message id,
// permanent ones end it, and every change is told to Options.OnUpdate after
// it is durable.
//
//	outbox/outbox.db        records (WAL, synchronous FULL, commits in groups)
//	outbox/files/<blob>     the bytes of one file, 0600
//	outbox/lock             held while the host runs
//
// The package does not decide who may send what, and it never reads a
// workspace: the bytes come from the reader that the bridge opened.
package outbox

import (
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

// Delivery is one accepted request, or one thing the host itself says.
type Delivery struct {
	Key     string // 32 lower-case hex digits; the same request seen again after a crash has the same key
	Folder  string // the group it comes from
	Request string // the request's id, under which the result is written; empty for the host's own words
	Channel string
	Chat    groups.JID
	Created time.Time
	Parts   []Part // sent in order
}

// Part is one message of a delivery.
type Part struct {
	MessageID string // 32 lower-case hex digits, derived from Key and position
	Text      string // the text, or the file's caption
	ReplyTo   string
	File      *File // nil for a text

	State    State
	Attempts int
	Next     time.Time // of the next attempt, while queued after a passing error
	Sent     int64     // bytes, while sending; not durable
	Receipt  channel.Receipt
	Code     string // why it failed, or what the last attempt met
	Message  string // for agent and operator
	Hint     string
}

// File is a file of a part; its bytes lie in the outbox under Blob.
type File struct {
	media.Info
	SHA256 string
	Blob   string // name below outbox/files
}
