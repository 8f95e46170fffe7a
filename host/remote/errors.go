package remote

import (
	"errors"
	"net/http"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/remote/intake"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// Answers to calls that are refused.
var (
	errBusy      = httpd.Refuse(http.StatusTooManyRequests, "busy", "too much of this group is on its way", "wait until some of it is done, then repeat the call with its key")
	errWhere     = httpd.Refuse(http.StatusNotFound, "not_found", "there is nothing here", "see docs/remote.md")
	errCancelled = httpd.Refuse(http.StatusGone, "withdrawn", "this delivery was withdrawn", "call again without its key, or with another")
	// errForgotten is the answer to a call that was made before, and that the outbox may have
	// forgotten: it must not be submitted again.
	errForgotten   = httpd.Refuse(http.StatusGone, "forgotten", "this call was made before; its result is no longer kept", "look into the chat; call again with another key")
	errCallLost    = httpd.Refuse(http.StatusGone, "call_lost", "this host knows nothing of the call any more: another one may have had it, and be gone", "call again with the same key; without a key, look first whether it was carried")
	errUploadSent  = httpd.Refuse(http.StatusConflict, "upload_spent", "this upload was sent already: its bytes are no longer kept", "upload the file again under another id")
	errUploadLost  = httpd.Refuse(http.StatusConflict, "upload_lost", "the bytes of this upload are lost, and this call has sent nothing", "upload the file again under another id")
	errNotRecorded = httpd.Refuse(http.StatusServiceUnavailable, "not_recorded", "the host cannot take this at the moment", "repeat the call with the same key")
	errNoName      = httpd.Refuse(http.StatusBadRequest, ipc.CodeMissing, "the file has no name", "give its name with its extension, such as chart.png")
	errNotShared   = httpd.Refuse(http.StatusUnprocessableEntity, "not_shared", "this assistant shares no directory with the host", "upload it: PUT its bytes to /api/files/ID and name upload:ID, or send them in the call")
	errNoInbox     = httpd.Refuse(http.StatusNotFound, "no_inbox", "this group's assistant does not fetch its messages", "the operator gives the group an assistant with runtime: remote")
	errPolls       = httpd.Refuse(http.StatusTooManyRequests, "busy", "too many fetches of this conversation wait", "end some of them, or wait until they end")
	errNoUpload    = httpd.Refuse(http.StatusNotFound, "unknown_upload", "no upload of this conversation has this id", "begin it: PUT with Upload-Length, Upload-SHA256 and offset 0")
)

func malformed(message string) *httpd.Problem {
	return httpd.Refuse(http.StatusBadRequest, ipc.CodeMalformed, message, "see docs/remote.md")
}

// tooLarge is the problem of a call that exceeds a bound, or err.
func tooLarge(err error, most int64) error {
	var bound *http.MaxBytesError
	switch {
	case errors.As(err, &bound), errors.Is(err, intake.ErrQuota):
		return httpd.Refuse(http.StatusRequestEntityTooLarge, ipc.CodeTooLarge, "the call is larger than "+media.Size(most), "send less; a large file goes as a form")
	case errors.Is(err, intake.ErrNoRoom):
		return httpd.ErrDiskFull
	}
	if err = httpd.OrDiskFull(err); errors.Is(err, httpd.ErrDiskFull) {
		return err
	}
	return malformed("the body did not come whole, or too slowly")
}

// fail answers with an error. One that is the host's is for the log alone.
func (s *Server) fail(rw http.ResponseWriter, err error) {
	var p *httpd.Problem
	var refused *ipc.Refusal
	var unoffered *refusal.Error // of the inbox
	err = httpd.OrDiskFull(err)
	switch {
	case errors.As(err, &p):
	case errors.As(err, &refused):
		p = httpd.Refuse(http.StatusUnprocessableEntity, refused.Code, refused.Message, refused.Hint)
	case errors.As(err, &unoffered):
		p = httpd.Refuse(statusOf(unoffered.Code), unoffered.Code, unoffered.Message, unoffered.Hint)
	default:
		s.Log.Error("call of an assistant elsewhere not answered", "error", err)
		p = errNotRecorded
	}
	httpd.Fail(rw, p)
}

// statusOf is the status of a refusal that the inbox makes.
func statusOf(code string) int {
	switch code {
	case ipc.CodeWrongValue:
		return http.StatusBadRequest
	case "unknown_message", "no_such_file", "no_inbox", "unknown_permission":
		return http.StatusNotFound
	case "no_permissions":
		return http.StatusForbidden
	case errBusy.Code:
		return errBusy.Status
	case "file_gone":
		return http.StatusGone
	}
	return http.StatusUnprocessableEntity
}
