package web

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// problem is an error as the API answers it.
type problem struct {
	status  int
	Code    string `json:"code"`           // stable, for programs
	Message string `json:"message"`        // for people
	Hint    string `json:"hint,omitempty"` // what to do about it
}

func (p *problem) Error() string { return p.Message }

// fail answers {"error": {code, message, hint}}.
func fail(rw http.ResponseWriter, p *problem) {
	if p.status == http.StatusServiceUnavailable || p.status == http.StatusTooManyRequests {
		rw.Header().Set("Retry-After", "2")
	}
	answer(rw, p.status, map[string]*problem{"error": p})
}

func answer(rw http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(rw, "internal error", http.StatusInternalServerError)
		return
	}
	h := rw.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(b)+1))
	rw.WriteHeader(status)
	// A client that is gone needs no answer.
	_, _ = rw.Write(append(b, '\n'))
}

// internal hides the cause, which may name paths, and logs it.
func (w *Web) internal(rw http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the client is gone
	}
	w.log.Error("request of the chat page went wrong", "channel", "web", "path", r.URL.Path, "error", err)
	fail(rw, &problem{http.StatusInternalServerError, "internal", "the host could not do this", "try again; the host's log says why"})
}

// quickBody ends a request whose body does not arrive soon; an upload sets
// later limits as it goes on. It must not be set where there is no body: the
// server then waits for the client to leave, and would take it for gone.
func quickBody(rw http.ResponseWriter) {
	// Recorders of tests have no deadlines.
	_ = http.NewResponseController(rw).SetReadDeadline(time.Now().Add(10 * time.Second))
}

// quoteShort makes foreign text fit for a message.
func quoteShort(s string) string {
	if r := []rune(s); len(r) > 80 {
		s = string(r[:80]) + "…"
	}
	return strconv.QuoteToASCII(s)
}
