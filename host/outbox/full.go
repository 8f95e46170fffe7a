package outbox

import (
	"errors"

	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// FullError is Room's error if the group or the disk is full. It passes: the request stays
// in the queue, and the bridge asks again.
type FullError struct {
	Code    string // over_quota, disk_full
	Message string
	Hint    string
	Cause   error // for the operator; may be nil
}

// Unwrap returns the refusal, for the protocol's reply, and the cause.
func (e *FullError) Unwrap() []error {
	return []error{&refusal.Error{Code: e.Code, Message: e.Message, Hint: e.Hint}, e.Cause}
}

func (e *FullError) Error() string { return e.Message }

// orDiskFull returns a FullError if err comes from a full disk, else err.
func orDiskFull(err error) error {
	known := store.Words(err)
	if !errors.Is(known, store.ErrFull) {
		return err
	}
	full := diskFull(err)
	if errors.Is(known, store.ErrServerFull) {
		full.Message = "the disk of the host's database server is full"
	}
	return full
}

// diskFull returns the FullError of a disk that is full.
func diskFull(cause error) *FullError {
	return &FullError{
		Code:    "disk_full",
		Message: "the host's disk is nearly full",
		Hint:    "it is taken by itself once the operator has made room; do not call again",
		Cause:   cause,
	}
}
