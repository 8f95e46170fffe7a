package slacktest

import (
	"fmt"
	"net/http"
	"strconv"
)

// Fault is how one request goes wrong. The zero Fault is none.
type Fault struct {
	Before func() // is called when the whole request has come, before anything is done
	After  func() // is called when all is done, before the answer

	Status     int    // is answered instead of doing anything, such as 429 or 503
	RetryAfter int    // in seconds, of that answer
	Error      string // is answered as a refusal, such as token_revoked; nothing is done
	Unread     bool   // the connection breaks before anything is read
	Lost       bool   // all is done, and the connection breaks before the answer
	NoShare    bool   // of completeUploadExternal: ok, and the files are never shared
	Cut        bool   // of upload: half of the bytes are kept, and the answer is OK
	Share      func() // of completeUploadExternal: is called after the answer, before the files are shared
}

// instead does what is done before or instead of an answer, and says whether that
// was all.
func (f Fault) instead(w http.ResponseWriter) bool {
	if f.Before != nil {
		f.Before()
	}
	switch {
	case f.Status != 0:
		if f.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(f.RetryAfter))
		}
		http.Error(w, "as the test wishes", f.Status)
	case f.Error != "":
		writeJSON(w, fmt.Appendf(nil, `{"ok":false,"error":%q}`, f.Error))
	default:
		return false
	}
	return true
}

// breaks breaks the connection.
func breaks(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}
