package discordtest

import (
	"net/http"
	"strconv"
)

// Fault is how one request goes wrong. The zero Fault is none.
type Fault struct {
	Before func() // is called when the whole request has come, before anything is done

	After func() // is called when all is done, before the answer

	Status     int     // is answered instead of doing anything, such as 429 or 503
	Code       int     // Discord's number of the error in that answer
	Errors     any     // what is wrong with which field, in that answer
	RetryAfter float64 // in seconds, of that answer
	Global     bool    // a 429 is of the whole bot
	Unread     bool    // the connection breaks before anything is read
	Lost       bool    // all is done, and the connection breaks before the answer
	Spent      float64 // after an answer that is good, no request of the kind is taken for so many seconds
}

// instead does what is done before or instead of an answer, and says whether that
// was all.
func (f Fault) instead(w http.ResponseWriter) bool {
	if f.Before != nil {
		f.Before()
	}
	if f.Status == 0 {
		return false
	}
	if f.Status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", strconv.FormatFloat(f.RetryAfter, 'f', 3, 64))
		w.Header().Set("X-RateLimit-Scope", "user")
		if f.Global {
			w.Header().Set("X-RateLimit-Global", "true")
		}
	}
	answer := object{"message": "as the test wishes", "code": f.Code, "retry_after": f.RetryAfter}
	if f.Errors != nil {
		answer["errors"] = f.Errors
	}
	writeJSON(w, f.Status, answer)
	return true
}

// breaks breaks the connection.
func breaks(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}
