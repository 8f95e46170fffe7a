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

// Next tells how the coming requests of a method go, one Fault each. The second step
// of an upload is the method "upload", the fetch of a file "download".
func (s *Server) Next(method string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[method] = append(s.faults[method], faults...)
}

// Always tells how all requests of a method go from now on.
func (s *Server) Always(method string, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[method+" always"] = []Fault{f}
}

// fault counts a request, and says how it goes.
func (s *Server) fault(method string) (f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[method]++
	s.changed()
	if next := s.faults[method]; len(next) > 0 {
		s.faults[method] = next[1:]
		return next[0]
	}
	if always := s.faults[method+" always"]; len(always) > 0 {
		return always[0]
	}
	return f
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
