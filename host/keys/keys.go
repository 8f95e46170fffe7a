// Package keys is the proxy that keeps the operator's model keys on the host. An
// assistant in a container speaks to it over a socket of its group, with a key
// that means nothing; the proxy adds the real key and passes the call on.
//
// Only calls of a table pass: to create an answer, to count tokens, and to list
// models. Nothing passes that stores, lists, fetches or deletes by id, because
// several groups may share one key. See table.go for paths and body.go for what
// a call may ask for.
//
// A call is read whole, checked, and written anew, so that the provider reads
// the same document as the check. Answers are streamed, and never retried.
package keys

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	maxBody    = 32 << 20         // bytes of a call
	maxCalls   = 4                // of a group, at once
	queueTime  = 30 * time.Second // for which a call waits for another's end
	bodyTime   = 2 * time.Minute  // in which a call's body must have come
	silence    = 10 * time.Minute // after which an answer that stands still is cut
	maxFailure = 64 << 10         // bytes of a provider's error
)

// Upstream is a provider's address and the operator's key there.
type Upstream struct {
	URL *url.URL // nil: calls of this provider are refused
	Key string
}

// Settings are what a group's assistant may use.
type Settings struct {
	Anthropic, OpenAI, Google Upstream

	// Tools allows tools that the provider runs, such as a search of the web.
	Tools bool
}

// ParseURL reads a provider's address: https, or http to this machine's loopback
// by its number.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("is no address")
	}
	loopback := u.Hostname() == "127.0.0.1" || u.Hostname() == "::1"
	if u.Host == "" || u.Opaque != "" || u.Scheme != "https" && !(u.Scheme == "http" && loopback) {
		return nil, errors.New("is no https address")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.RawPath != "" {
		return nil, errors.New("has a user, a query or escapes in it")
	}
	return u, nil
}

// Proxy is an http.Handler for one group.
type Proxy struct {
	settings func() Settings // asked at each call
	client   *http.Client
	calls    chan struct{}
}

// New returns the proxy of one group.
func New(settings func() Settings) *Proxy {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // the answer passes as it comes
	transport.ResponseHeaderTimeout = silence
	return &Proxy{
		settings: settings,
		client:   &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		calls:    make(chan struct{}, maxCalls),
	}
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	set := p.settings()
	c, refused := match(r, set)
	if refused != nil {
		refused.write(w, c.form)
		return
	}
	if !p.enter(r.Context()) {
		(&refusal{http.StatusTooManyRequests, "this group has four calls under way; try again"}).write(w, c.form)
		return
	}
	defer func() { <-p.calls }()
	var body []byte
	if c.method == http.MethodPost {
		if body, refused = readBody(w, r); refused == nil {
			body, refused = check(c, body, set.Tools)
		}
		if refused != nil {
			refused.write(w, c.form)
			return
		}
	}
	p.pass(w, r, c, body)
}

// enter waits for one of the group's places.
func (p *Proxy) enter(ctx context.Context) bool {
	wait := time.NewTimer(queueTime)
	defer wait.Stop()
	select {
	case p.calls <- struct{}{}:
		return true
	case <-ctx.Done():
	case <-wait.C:
	}
	return false
}

// readBody reads a call, which must come plain and in time.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *refusal) {
	if e := r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return nil, &refusal{http.StatusUnsupportedMediaType, "send the body without a Content-Encoding"}
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime)) // a test's recorder has none
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	_ = control.SetReadDeadline(time.Time{})
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, &refusal{http.StatusRequestEntityTooLarge, "a call has at most 32 MiB"}
	}
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, "the body did not come whole"}
	}
	return body, nil
}

// sent are the headers of a call that reach the provider. None is a credential.
var sent = []string{"Accept", "Content-Type", "User-Agent", "Anthropic-Version", "Anthropic-Beta"}

// answered are the headers of an answer that reach the assistant.
var answered = []string{"Content-Type", "Retry-After", "Retry-After-Ms", "Request-Id", "X-Request-Id", "X-Should-Retry"}

// pass makes the call with the real key and streams the answer.
func (p *Proxy) pass(w http.ResponseWriter, r *http.Request, c call, body []byte) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	target := *c.upstream.URL
	target.Path = strings.TrimSuffix(target.Path, "/") + c.path
	target.RawQuery = c.query
	req, err := http.NewRequestWithContext(ctx, c.method, target.String(), bytes.NewReader(body))
	if err != nil {
		(&refusal{http.StatusBadGateway, "the call could not be made"}).write(w, c.form)
		return
	}
	req.GetBody = nil // a call is never made twice
	for _, name := range sent {
		if v := r.Header.Get(name); v != "" {
			req.Header.Set(name, v)
		}
	}
	c.authorize(req.Header, c.upstream.Key)
	res, err := p.client.Do(req)
	if err != nil {
		(&refusal{http.StatusBadGateway, "the model's service cannot be reached from the host"}).write(w, c.form)
		return
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		(&refusal{http.StatusBadGateway, "the model's service answers with a redirect, which is not followed"}).write(w, c.form)
		return
	}
	for _, name := range answered {
		if v := res.Header.Get(name); v != "" && !strings.Contains(v, c.upstream.Key) {
			w.Header().Set(name, v)
		}
	}
	w.WriteHeader(res.StatusCode)
	if res.StatusCode >= 400 { // some services repeat the key that they reject
		defer time.AfterFunc(silence, cancel).Stop()
		text, _ := io.ReadAll(io.LimitReader(res.Body, maxFailure))
		_, _ = w.Write(bytes.ReplaceAll(text, []byte(c.upstream.Key), []byte("[key]")))
		return
	}
	stream(w, res.Body, cancel)
}

// stream copies an answer as it comes. cancel ends one that stands still. An
// answer that breaks off breaks off for the assistant, too.
func stream(w http.ResponseWriter, from io.Reader, cancel func()) {
	idle := time.AfterFunc(silence, cancel)
	defer idle.Stop()
	control := http.NewResponseController(w)
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		idle.Reset(silence)
		if n > 0 {
			_ = control.SetWriteDeadline(time.Now().Add(silence)) // an assistant that does not read
			if _, err := w.Write(buf[:n]); err != nil {
				return
			}
			_ = control.Flush()
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}
