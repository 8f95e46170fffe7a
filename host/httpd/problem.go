// Package httpd is the craft of the host's HTTP servers. They only listen on this machine unless
// there is a token, answer only to their own names, refuse requests of other sites' pages, end
// requests that are too large or too slow, compare secrets, verify signed webhooks, and report errors
// in JSON.
package httpd

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/media"
)

// Problem is an error in a server's answer.
type Problem struct {
	Status  int    `json:"-"`              // HTTP status
	Code    string `json:"code"`           // stable, for programs
	Message string `json:"message"`        // for people
	Hint    string `json:"hint,omitempty"` // what to do about it
}

// Refuse returns a Problem.
func Refuse(status int, code, message, hint string) *Problem {
	return &Problem{Status: status, Code: code, Message: message, Hint: hint}
}

func (p *Problem) Error() string { return p.Message }

// Fail answers with {"error": {code, message, hint}}.
func Fail(rw http.ResponseWriter, p *Problem) {
	if p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests {
		rw.Header().Set("Retry-After", "2")
	}
	if p.Status == http.StatusUnauthorized {
		rw.Header().Set("WWW-Authenticate", `Bearer realm="longshore"`)
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

// Decode reads the one JSON object of a body strictly: it refuses unknown fields, and what comes after.
func Decode(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind the object")
	}
	return nil
}

// Quote makes untrusted text safe for a message.
func Quote(s string) string { return strconv.QuoteToASCII(media.Cut(s, 80)) }

// Internal answers with a general text and logs the cause, which may name paths. A text that the
// database has no form for is the client's fault. It does nothing if the client is gone.
func Internal(rw http.ResponseWriter, r *http.Request, log *slog.Logger, err error) {
	if r.Context().Err() != nil {
		return
	}
	if errors.Is(err, store.ErrText) {
		Fail(rw, Refuse(http.StatusBadRequest, "bad_text", "a text holds a zero byte or is not UTF-8", "send it as UTF-8 without zero bytes"))
		return
	}
	log.Error("request failed", "path", r.URL.Path, "error", err)
	Fail(rw, Refuse(http.StatusInternalServerError, "internal", "the host could not do this", "try again; the host's log says why"))
}
