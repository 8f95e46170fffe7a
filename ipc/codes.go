package ipc

// The codes of this package's refusals. They are stable; docs/protocol.md
// lists them with their remedies.
const (
	CodeMalformed    = "malformed"         // not one JSON object of valid UTF-8
	CodeTooLarge     = "request_too_large" // over MaxRequest
	CodeDuplicateKey = "duplicate_key"     // a key, or a key and its other spelling, twice
	CodeUnknownKey   = "unknown_key"
	CodeUnknownType  = "unknown_type"
	CodeUnknownStyle = "unknown_style" // an "as" that does not exist
	CodeWrongValue   = "wrong_value"   // a number where text belongs, NUL in a text
	CodeMissing      = "missing_field"
	CodeConflict     = "conflicting_fields"
	CodeTooManyFiles = "too_many_files"
	CodeTooLong      = "field_too_long"
	CodeBadName      = "bad_name"        // of the request's file
	CodeNotFile      = "not_a_file"      // a FIFO, a link, a directory, a device
	CodeHardLinked   = "hard_link"       // another name could still change it
	CodeUnreadable   = "unreadable"      // the host may not read it
	CodeBusy         = "request_busy"    // a lease on the request's file keeps the host from opening it
	CodeNoReceipts   = "no_receipts"     // of a Result of the client: the host writes none
	CodeUnknown      = "unknown_request" // no such id in the queue or in the results
)

// Limits of a request's fields, in bytes unless named otherwise.
const (
	MaxFiles = 32       // files in one request
	MaxPath  = 4096     // of a file's path
	MaxText  = 60 << 10 // of a text or a caption
	maxName  = 1024     // of a file's name to show
	maxField = 512      // of everything else
)

func refuse(code, message, hint string) *Refusal {
	return &Refusal{Code: code, Message: message, Hint: hint}
}
