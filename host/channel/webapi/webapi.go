// Package webapi asks the HTTP API of a platform: JSON both ways, with errors that have their classes by
// the platform's table, and the websocket by which its events come.
package webapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/media"
)

const (
	asking    = 20 * time.Second // how long Ask waits
	maxAnswer = 16 << 20         // bytes of an answer of Ask
	maxSaid   = 120              // bytes of the platform's words in an error
)

// API is the client of one platform. Its methods may be called concurrently.
type API struct {
	Who    string      // the platform's name for people
	Base   string      // the address before each path
	Header http.Header // of each request; may be nil
	Client *http.Client
	Dialect

	clock transfer.Clock
	ahead atomic.Int64 // ns that the platform's clock is ahead of the host's
}

// Dialect is what an API does in its own way.
type Dialect interface {
	// Read reads an answer of any status into out, which may be nil. The error is a *Word if the
	// platform refuses. Any other error means that this is no answer of the platform's.
	Read(answer *transfer.Answer, out any) error
	// Rows say what the refusals mean. The first that fits counts. A row without Words says only that
	// the platform refused this, with the platform's own words.
	Rows() []channel.Row
}

// New returns an API whose client reaches what o says. The answers' times go to clock. The caller of
// New closes the client's idle connections.
func New(who, base string, o transfer.Options, d Dialect, clock transfer.Clock) (*API, error) {
	a := &API{Who: who, Base: base, Dialect: d, clock: clock}
	o.Clock = a
	var err error
	a.Client, err = transfer.New(o)
	return a, err
}

// Authorized is a transport that adds a header to each request. Its client must reach nobody else.
type Authorized struct {
	transfer.Transport
	Header http.Header
}

// RoundTrip implements http.RoundTripper.
func (a Authorized) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	maps.Copy(req.Header, a.Header)
	return a.Transport.RoundTrip(req)
}

// ReportTime implements transfer.Clock.
func (a *API) ReportTime(theirs time.Time) {
	a.ahead.Store(int64(time.Until(theirs)))
	if a.clock != nil {
		a.clock.ReportTime(theirs)
	}
}

// TheirTime converts a time of the host to the platform's clock, by its last answer.
func (a *API) TheirTime(t time.Time) time.Time { return t.Add(time.Duration(a.ahead.Load())) }

// Word is what a platform says when it refuses, as the cause of a *channel.Error.
type Word struct {
	Said   string        // foreign: a word or a sentence
	Detail string        // what belongs to it, such as the permission that is missing; foreign, may be empty
	Whole  string        // of what else a row may be made; empty: Said
	Code   int           // the platform's number; 0: none
	Status int           // of HTTP
	Wait   time.Duration // how long the platform wants to be left alone

	who string
}

func (w *Word) Error() string {
	said := media.Cut(media.Printable(w.Said), maxSaid)
	if w.Code >= 1000 { // no status
		said = fmt.Sprintf("%d %q", w.Code, said)
	}
	return w.who + " says " + said
}

// Says reports whether a platform refused with one of the numbers or words of on, as channel.Says.
func Says(err error, on string) bool {
	w := WordOf(err)
	return w != nil && channel.Says(on, w.Said, w.Code)
}

// Unless returns err, and nil for a refusal with one of the numbers or words of on.
func Unless(err error, on string) error {
	if Says(err, on) {
		return nil
	}
	return err
}

// WordOf returns what the platform said; nil if it refused nothing.
func WordOf(err error) *Word {
	w, _ := errors.AsType[*Word](err)
	return w
}

// Refuse returns the error of a refusal.
func (a *API) Refuse(w Word) error {
	w.who = a.Who
	if w.Status == http.StatusTooManyRequests || w.Code == http.StatusTooManyRequests {
		return link.Slow(a.Who, cmp.Or(w.Wait, time.Second), &w)
	}
	row, known := channel.RowOf(slices.Concat(a.Rows(), []channel.Row{
		{On: "408|503", Code: "not_connected", Words: a.Who + " is not ready", Hint: channel.Again},
		{On: "413", Class: channel.Permanent, Code: "file_too_large", Words: a.Who + " takes no file of this size", Hint: "send a smaller file"},
	}), cmp.Or(w.Whole, w.Said), w.Code, w.Status)
	switch {
	case known:
	case cmp.Or(w.Status, w.Code)/100 == 5, w.Code/100 == 5:
		row = channel.Row{Class: channel.Ambiguous, Code: "no_answer", Words: a.Who + " failed and may have taken the message"}
	default:
		row = channel.Row{Class: channel.Permanent, Code: "message_refused"}
	}
	if row.Words == "" {
		row.Words = fmt.Sprintf("%s refused this (%s)", a.Who, media.Cut(media.Printable(w.Said), maxSaid))
	}
	if w.Detail != "" {
		row.Words += ": " + media.Cut(media.Printable(w.Detail), maxSaid)
	}
	e := row.Error(&w)
	e.RetryAfter = min(w.Wait, link.LongestWait)
	return e
}

// Ask makes a request that may be repeated, since it shows nothing new, and waits 20 seconds at most. in
// and out may be nil. in goes as JSON or, if it is url.Values, as a form. Of an error that is no refusal
// the class is Passing.
func (a *API) Ask(ctx context.Context, method, path string, in, out any) error {
	ctx, end := context.WithTimeout(ctx, asking)
	defer end()
	return a.AskLong(ctx, method, path, in, out)
}

// AskLong is Ask for a request that waits until ctx is done.
func (a *API) AskLong(ctx context.Context, method, path string, in, out any) error {
	kind, body, err := encode(in)
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	answer, err := transfer.Ask(ctx, a.Client, method, a.Base+path, a.header(kind), body, maxAnswer)
	if _, refused := errors.AsType[*channel.Error](err); refused { // by the client's transport
		return err
	}
	if err == nil {
		err = a.read(answer, out)
	}
	if err != nil && (WordOf(err) == nil || channel.ClassOf(err) == channel.Ambiguous) {
		return a.Lost(err)
	}
	return err
}

// Lost is the error of a request that may be repeated and had no clear answer. It holds no words about a
// message that may have been taken.
func (a *API) Lost(err error) error {
	if said := WordOf(err); said != nil {
		err = said
	}
	return link.Lost(a.Who, err)
}

// Post makes a request that shows something. in is as of Ask or a *transfer.Body, which Post closes. The
// error is Ambiguous if the platform may have taken it.
func (a *API) Post(ctx context.Context, path string, in, out any) error {
	b, ok := in.(*transfer.Body)
	if !ok {
		kind, body, err := encode(in)
		if err != nil {
			return fmt.Errorf("encode %s: %w", path, err)
		}
		b = transfer.Plain(kind, body)
	}
	got, err := transfer.Post(ctx, a.Client, a.Who, a.Base+path, a.header(""), b)
	if answer, ok := errors.AsType[*transfer.Answer](err); ok {
		if said := a.read(answer, nil); WordOf(said) != nil {
			return said
		}
	}
	if err == nil {
		if err = a.read(&transfer.Answer{Status: http.StatusOK, Body: got}, out); err != nil && WordOf(err) == nil {
			return a.Unsure(err)
		}
	}
	return err
}

// read reads an answer, and gives a refusal its class.
func (a *API) read(answer *transfer.Answer, out any) error {
	err := a.Read(answer, out)
	w := WordOf(err)
	if w == nil && answer.Status == http.StatusTooManyRequests {
		w = &Word{}
	}
	if w == nil {
		return err
	}
	w.Status = answer.Status
	w.Wait = cmp.Or(w.Wait, transfer.RetryAfter(answer.Header, time.Now()))
	return a.Refuse(*w)
}

// Unsure returns the error of an answer that does not say what the platform has made.
func (a *API) Unsure(cause error) error {
	return &channel.Error{Class: channel.Ambiguous, Code: "no_answer", Message: a.Who + " did not say which message it made", Err: cause}
}

func (a *API) header(kind string) http.Header {
	h := http.Header{}
	maps.Copy(h, a.Header)
	if kind != "" {
		h.Set("Content-Type", kind)
	}
	return h
}

func encode(in any) (kind string, body []byte, err error) {
	switch in := in.(type) {
	case nil:
		return "", nil, nil
	case url.Values:
		return "application/x-www-form-urlencoded", []byte(in.Encode()), nil
	}
	body, err = json.Marshal(in)
	return "application/json; charset=utf-8", body, err
}
