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
//
// What a call uses is reserved in the ledger before the call, and settled by what
// the provider reports in its answer. See ledger.go, usage.go and budget.go.
package keys

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/longshore-bridge/longshore/host/httpd"
)

const (
	maxBody    = 32 << 20         // bytes of a call
	largeBody  = 4 << 20          // of which a group's are checked one after the other
	maxCalls   = 4                // of a group, at once
	queueTime  = 30 * time.Second // for which a call waits for another's end
	silence    = 10 * time.Minute // after which an answer that stands still is cut
	maxFailure = 64 << 10         // bytes of a provider's error
)

// bodySpeed is that of the slowest body.
var bodySpeed = httpd.Speed{PerSecond: 64 << 10, Grace: 30 * time.Second}

// Settings are what a group's assistant may use.
type Settings struct {
	Upstreams []Upstream

	// Tools allows tools that the provider runs, such as a search of the web, and every key at the
	// top of a call. Allow does so for keys, kinds of tool and models by name.
	Tools bool
	Allow []string

	// Own says that no other group has the key, so that what the provider stores is this
	// group's alone, and may be used by id.
	Own bool

	Prices Prices
	Budget Budget
	Purse  string // the folder of the group whose budget the calls spend; empty: this group's
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
	folder string
	access Access
	ledger *Ledger
	log    *slog.Logger
	client *http.Client
	calls  chan struct{}
	large  sync.Mutex  // held while a large body is checked, which takes several times its memory
	over   atomic.Bool // the last call that would create an answer was refused for the budget

	mu    sync.Mutex
	asked map[string]time.Time // what was refused and the operator might allow, and when last
}

// Access knows what a group's assistant may use at this moment.
type Access interface{ ModelAccess(folder string) Settings }

// New returns the proxy of the group with that folder.
func New(folder string, access Access, ledger *Ledger, log *slog.Logger) *Proxy {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // the answer passes as it comes
	transport.ResponseHeaderTimeout = silence
	return &Proxy{
		folder: folder, access: access, ledger: ledger, log: log,
		client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		calls:  make(chan struct{}, maxCalls),
		asked:  map[string]time.Time{},
	}
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	set := p.access.ModelAccess(p.folder)
	c, refused := match(w, r, set)
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
	var most Usage
	if c.method == http.MethodPost {
		if body, refused = readBody(w, r); refused == nil {
			body, most, refused = p.check(&c, body, set)
		}
		if refused != nil {
			p.note(c.asked)
			refused.write(w, c.form)
			return
		}
	}
	if !c.answers {
		p.pass(w, r, c, body, &bill{})
		return
	}
	b, refused := p.open(r.Context(), c, set, most)
	if refused != nil {
		refused.write(w, c.form)
		return
	}
	defer p.settle(b)
	p.pass(w, r, c, body, b)
}

// OverBudget reports whether the last call for an answer was refused because the budget
// is used up.
func (p *Proxy) OverBudget() bool { return p.over.Load() }

// Bounds of what is kept of refused names.
const (
	keepAsked = time.Hour
	mostAsked = 20
)

// note keeps a name for Asked; none if it is empty.
func (p *Proxy) note(name string) {
	if name == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, known := p.asked[name]
	if !known && len(p.asked) >= mostAsked {
		return
	}
	if p.asked[name] = time.Now(); !known {
		p.log.Warn("call of the model refused", "group", p.folder, "asked", name, "remedy", "if that is meant, add it to provider_tools: {allow: […]}")
	}
}

// Asked are the keys, kinds of tool and models that calls of the last hour used, that were refused,
// and that the operator might allow.
func (p *Proxy) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.asked, func(_ string, at time.Time) bool { return time.Since(at) > keepAsked })
	allowed := p.access.ModelAccess(p.folder)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p.asked)), allowed.allows)
}

// Drain waits for a moment until the calls under way are settled, and lets no others
// begin. The caller has closed the server.
func (p *Proxy) Drain() {
	wait := time.After(settleTime)
	for range maxCalls {
		select {
		case p.calls <- struct{}{}:
		case <-wait:
			return
		}
	}
}

// enter waits for one of the group's places.
func (p *Proxy) enter(ctx context.Context) bool {
	select {
	case p.calls <- struct{}{}:
		return true
	case <-ctx.Done():
	case <-time.After(queueTime):
	}
	return false
}

// readBody reads a call, which must come plain and in time.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *refusal) {
	if e := r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return nil, &refusal{http.StatusUnsupportedMediaType, "send the body without a Content-Encoding"}
	}
	var body bytes.Buffer
	body.Grow(int(min(max(r.ContentLength, 0), maxBody)) + bytes.MinRead)
	_, err := body.ReadFrom(httpd.Body(w, r, maxBody, bodySpeed))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, &refusal{http.StatusRequestEntityTooLarge, "a call has at most 32 MiB"}
	}
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, "the body did not come whole"}
	}
	return body.Bytes(), nil
}

// check is that of a call's body, unless it passes unread.
func (p *Proxy) check(c *call, body []byte, set Settings) ([]byte, Usage, *refusal) {
	if c.raw {
		return body, Usage{}, nil
	}
	if len(body) > largeBody {
		p.large.Lock()
		defer p.large.Unlock()
	}
	return check(c, body, set)
}

// sent are the headers of a call that reach the provider. None is a credential.
var sent = []string{"Accept", "Content-Type", "User-Agent", "Anthropic-Version", "Anthropic-Beta"}

// answered are the headers of an answer that reach the assistant.
var answered = []string{"Content-Type", "Retry-After", "Retry-After-Ms", "Request-Id", "X-Request-Id", "X-Should-Retry"}

// pass makes the call with the real key and streams the answer. It notes in b what
// the answer reports.
func (p *Proxy) pass(w http.ResponseWriter, r *http.Request, c call, body []byte, b *bill) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	target := *c.upstream.URL
	target.Path = strings.TrimSuffix(target.Path, "/") + c.path
	target.RawQuery = c.query
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { b.sent.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, c.method, target.String(), &once{rest: body})
	if err != nil {
		(&refusal{http.StatusBadGateway, "the call could not be made"}).write(w, c.form)
		return
	}
	req.ContentLength = int64(len(body)) // and no GetBody: a call is never made twice
	if len(body) == 0 {
		req.Body = http.NoBody
	}
	for _, name := range sent {
		if v := r.Header.Get(name); v != "" {
			req.Header.Set(name, v)
		}
	}
	c.authorize(req.Header)
	res, err := p.client.Do(req)
	if err != nil {
		(&refusal{http.StatusBadGateway, "the model's service cannot be reached from the host"}).write(w, c.form)
		return
	}
	defer res.Body.Close()
	b.free = res.StatusCode < 200 || res.StatusCode >= 300 // services charge for answers alone
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		(&refusal{http.StatusBadGateway, "the model's service answers with a redirect, which is not followed"}).write(w, c.form)
		return
	}
	if e := res.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		(&refusal{http.StatusBadGateway, "the model's service packs its answer, which was not asked for"}).write(w, c.form)
		return
	}
	for _, name := range answered {
		if v := res.Header.Get(name); v != "" && !strings.Contains(v, c.upstream.Secret) {
			w.Header().Set(name, v)
		}
	}
	w.WriteHeader(res.StatusCode)
	if res.StatusCode >= 400 { // some services repeat the key that they reject
		defer time.AfterFunc(silence, cancel).Stop()
		text, _ := io.ReadAll(io.LimitReader(res.Body, maxFailure))
		secret := &redactor{key: []byte(c.upstream.Secret)}
		_, _ = w.Write(secret.next(text))
		if len(text) < maxFailure { // what is cut may end in the middle of the key
			_, _ = w.Write(secret.rest())
		}
		return
	}
	b.meter = newMeter(c.form, res.Header.Get("Content-Type"))
	b.meter.thinks = c.thinks
	stream(w, res.Body, cancel, b.meter, newRedactor(c.upstream.Secret))
}

// once is a body that is read once, and lets go of its memory before the answer comes.
type once struct{ rest []byte }

func (o *once) Read(p []byte) (int, error) {
	n := copy(p, o.rest)
	if o.rest = o.rest[n:]; len(o.rest) == 0 {
		o.rest = nil
		return n, io.EOF
	}
	return n, nil
}

// stream copies an answer as it comes. cancel ends one that stands still. An
// answer that breaks off breaks off for the assistant, too.
func stream(w http.ResponseWriter, from io.Reader, cancel func(), m *meter, secret *redactor) {
	idle := time.AfterFunc(silence, cancel)
	defer idle.Stop()
	control := http.NewResponseController(w)
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		idle.Reset(silence)
		if n > 0 {
			m.read(buf[:n])
			if _, err := w.Write(secret.next(buf[:n])); err != nil {
				return
			}
			_ = control.Flush()
		}
		if err == io.EOF {
			m.close()
			_, _ = w.Write(secret.rest())
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}
