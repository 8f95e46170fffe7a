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
	RetryAfter float64 // in seconds, of that answer
	Global     bool    // a 429 is of the whole bot
	Unread     bool    // the connection breaks before anything is read
	Lost       bool    // all is done, and the connection breaks before the answer
	Spent      float64 // after an answer that is good, no request of the kind is taken for so many seconds
}

// Next tells how the coming requests of a kind go, one Fault each. The kinds are the
// names in the table of routes.
func (s *Server) Next(kind string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[kind] = append(s.faults[kind], faults...)
}

// Always tells how all requests of a kind go from now on.
func (s *Server) Always(kind string, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[kind+" always"] = []Fault{f}
}

// fault counts a request, and says how it goes.
func (s *Server) fault(kind string) (f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[kind]++
	s.changed()
	if next := s.faults[kind]; len(next) > 0 {
		s.faults[kind] = next[1:]
		return next[0]
	}
	if always := s.faults[kind+" always"]; len(always) > 0 {
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
	writeJSON(w, f.Status, object{"message": "as the test wishes", "code": f.Code, "retry_after": f.RetryAfter})
	return true
}

// breaks breaks the connection.
func breaks(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}
