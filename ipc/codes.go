package ipc

import "github.com/longshore-bridge/longshore/internal/refusal"

// Refusal says why a request was not accepted. The agent sees the texts, so they
// never hold a host path.
type Refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`

	// Parts holds the problem of each file if the request has several. A request is
	// accepted or refused as a whole.
	Parts []Outcome `json:"parts,omitempty"`
}

func (r *Refusal) Error() string { return r.Message }

// Unwrap returns the refusal without its parts.
func (r *Refusal) Unwrap() error {
	return &refusal.Error{Code: r.Code, Message: r.Message, Hint: r.Hint}
}

// The codes of this package's refusals. They are stable; docs/protocol.md lists each
// with its remedy.
const (
	CodeMalformed    = "malformed"         // not one JSON object of valid UTF-8
	CodeTooLarge     = "request_too_large" // larger than MaxRequest
	CodeDuplicateKey = "duplicate_key"     // a key, or two spellings of one key, given twice
	CodeUnknownKey   = "unknown_key"
	CodeUnknownType  = "unknown_type"
	CodeUnknownStyle = "unknown_style" // an unknown value of "as"
	CodeWrongValue   = "wrong_value"   // a number where text belongs, NUL in a text
	CodeMissing      = "missing_field"
	CodeConflict     = "conflicting_fields"
	CodeTooManyFiles = "too_many_files"
	CodeTooLong      = "field_too_long"
	CodeBadName      = "bad_name"          // of the request's file
	CodeNotFile      = "not_a_file"        // a FIFO, a link, a directory, a device
	CodeHardLinked   = "hard_link"         // the file has another name, through which it could still change
	CodeUnreadable   = "unreadable"        // the host has no permission to read it
	CodeBusy         = "request_busy"      // a lease on the request's file keeps the host from opening it
	CodeNoReceipts   = "no_receipts"       // only in a Client's Result: the host writes no results
	CodeAwaiting     = "awaiting_approval" // of a result that stays Queued until a person says yes or no
	CodeUnknown      = "unknown_request"   // no such id in the queue or in the results
)

// Limits of a request's fields, in bytes unless stated otherwise.
const (
	MaxRequest = 64 << 10 // a whole request; a larger one is refused unread
	MaxFiles   = 32       // files in one request
	MaxPath    = 4096     // of a file's path
	MaxText    = 60 << 10 // of a text or a caption
	MaxAlt     = 1000     // of what a picture shows, in words; Slack takes as many characters
	MaxPrompt  = 8 << 10  // of a task's prompt
	maxName    = 1024     // of the name shown in the chat
	maxField   = 512      // of every other field
)

// limits are those that a tag of Request or FileRef names.
var limits = map[string]int{"": maxField, "name": maxName, "alt": MaxAlt, "path": MaxPath, "prompt": MaxPrompt, "text": MaxText}

func refuse(code, message, hint string) *Refusal {
	return &Refusal{Code: code, Message: message, Hint: hint}
}
