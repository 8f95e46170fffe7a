// Package httpd is what the HTTP servers of channels have in common: they listen
// on this machine alone unless there is a token, answer to their own names, refuse
// what other sites send through a browser, end requests that trickle, verify signed
// webhooks, and say what is wrong in JSON.
package httpd

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/longshore-bridge/longshore/media"
)

// Problem is an error as a server answers it.
type Problem struct {
	Status  int    `json:"-"`              // of HTTP
	Code    string `json:"code"`           // stable, for programs
	Message string `json:"message"`        // for people
	Hint    string `json:"hint,omitempty"` // what to do about it
}

// Refuse makes a Problem.
func Refuse(status int, code, message, hint string) *Problem {
	return &Problem{Status: status, Code: code, Message: message, Hint: hint}
}

func (p *Problem) Error() string { return p.Message }

// Fail answers {"error": {code, message, hint}}.
func Fail(rw http.ResponseWriter, p *Problem) {
	if p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests {
		rw.Header().Set("Retry-After", "2")
	}
	Answer(rw, p.Status, map[string]*Problem{"error": p})
}

// Answer answers with v as JSON.
func Answer(rw http.ResponseWriter, status int, v any) {
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

// QuickBody ends a request whose body does not arrive soon; an upload sets
// later limits as it goes on. It must not be set where there is no body: the
// server then waits for the client to leave, and would take it for gone.
func QuickBody(rw http.ResponseWriter) {
	// Recorders of tests have no deadlines.
	_ = http.NewResponseController(rw).SetReadDeadline(time.Now().Add(10 * time.Second))
}

// Quote makes foreign text fit for a message.
func Quote(s string) string { return strconv.QuoteToASCII(media.Cut(s, 80)) }
