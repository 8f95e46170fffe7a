package ipc

import (
	"encoding/json"
	"time"
)

// Status is the state of a request or of one of its parts.
type Status string

// The states of a result. Refused, Done, Failed and Uncertain do not change any more. Sent
// may become Delivered or Read. A request that its client withdrew has no result.
const (
	Queued    Status = "queued"    // accepted and recorded, or waiting for room in the outbox
	Sent      Status = "sent"      // the platform acknowledged it
	Delivered Status = "delivered" // a member's device has it
	Read      Status = "read"      // a member has seen it
	Failed    Status = "failed"    // it was accepted but could not be sent
	Refused   Status = "refused"   // it was not accepted
	Done      Status = "done"      // the host did it, or answered it; nothing went to the chat
	Uncertain Status = "uncertain" // the platform did not answer, so a member may or may not have received it
)

// Result is the host's answer to one request, as stored in results/. The host
// replaces the whole file at each change.
type Result struct {
	ID        string    `json:"id"`
	Status    Status    `json:"status"`
	Chat      string    `json:"chatJid,omitempty"`
	Channel   string    `json:"channel,omitempty"`   // set once the host has recorded the request
	MessageID string    `json:"messageId,omitempty"` // the platform's id, of the last part that has one
	Code      string    `json:"code,omitempty"`      // stable code of a refusal or failure
	Message   string    `json:"message,omitempty"`   // what happened, for the agent
	Hint      string    `json:"hint,omitempty"`      // what to do about it
	Parts     []Outcome `json:"parts,omitempty"`     // one for each file or text, in order
	Progress  *Progress `json:"progress,omitempty"`  // while bytes are being sent
	Time      time.Time `json:"time"`

	// Data is the answer to a call, and what came of a question: an object of at most
	// MaxData bytes, whose "words" say the same for people.
	Data json.RawMessage `json:"data,omitempty"`
}

// MaxData is the most bytes of Result.Data.
const MaxData = 48 << 10

// Outcome is the result of one part of a request.
type Outcome struct {
	Name      string `json:"name,omitempty"` // the file's name in the chat; empty for text
	Kind      string `json:"kind,omitempty"` // image, document, …, text
	Size      int64  `json:"size,omitempty"`
	SHA256    string `json:"sha256,omitempty"`
	Status    Status `json:"status"`
	MessageID string `json:"messageId,omitempty"`
	Code      string `json:"code,omitempty"`
	Message   string `json:"message,omitempty"`
	Hint      string `json:"hint,omitempty"`
	Note      string `json:"note,omitempty"` // for example why a picture was sent as a document
}

// Progress counts the bytes of all files of a request.
type Progress struct {
	Sent  int64 `json:"sent"`
	Total int64 `json:"total"`
}

// Final reports whether the request has reached an end. Sent is final, although
// receipts may still turn it into Delivered or Read.
func (s Status) Final() bool { return s != Queued && s != "" }

// Reached reports whether the chat has it.
func (s Status) Reached() bool { return s == Sent || s == Delivered || s == Read }
