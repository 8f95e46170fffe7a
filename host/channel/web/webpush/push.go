// Package webpush notifies browsers in which no page of the chat is open: Web Push, RFC 8030,
// with its encryption (RFC 8291) and its tokens (RFC 8292).
package webpush

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/host/channel/web/session"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/wake"
	"github.com/longshore-bridge/longshore/media"
)

// Settings of Web Push. The zero Settings are off.
type Settings struct {
	Contact  string   // how a push service reaches the operator, mailto:… or https://…; empty: off
	Text     bool     // a notification holds the beginning of the message
	Services []string // where endpoints may lie: a host, with a dot before it all below it, or scheme://host:port; browserServices if nil
}

// browserServices returns the hosts of the endpoints of Chrome, Firefox, Edge and Safari, as
// their makers document them.
func browserServices() []string {
	return []string{"fcm.googleapis.com", "updates.push.services.mozilla.com", ".notify.windows.com", "web.push.apple.com"}
}

const (
	firstWait   = 5 * time.Second  // before a service that failed is asked again, if it names no time
	longestWait = 10 * time.Minute // for a service
	requestTime = 30 * time.Second
	maxTries    = 3
	maxFails    = 20   // notifications in a row, after which a browser is forgotten
	maxSending  = 4    // requests to one service
	maxWaiting  = 1000 // notifications for one service; beyond it the oldest is dropped
	lifetime    = 24 * time.Hour
	maxText     = 200 // characters of a message
)

// Pages knows which pages are open.
type Pages interface {
	// Open returns the ids of the sessions with an open page, and whether any page is open.
	Open() (sessions map[string]bool, any bool)
}

// Options configure a Pusher.
type Options struct {
	Settings
	DB      *state.DB
	Channel string
	Pages   Pages
	Guard   *session.Guard // of the page
	Log     *slog.Logger
}

// Pusher notifies browsers. A notification is no delivery: it is attempted a few times, and
// lost if the host ends. The methods of a nil Pusher do nothing.
type Pusher struct {
	opts     Options
	client   *http.Client
	key      *ecdsa.PrivateKey
	public   string
	services []*service

	mu    sync.Mutex
	news  map[string]*notice // by chat: the newest
	fails map[string]int     // in a row, by endpoint
	wake  chan struct{}      // holds a value when there is news
}

// notice is a notification, as the page's service worker reads it.
type notice struct {
	Chat  string `json:"chat"`
	Title string `json:"title"`
	Text  string `json:"text,omitempty"`
}

// New makes a Pusher and its key, if the channel has none; nil if Web Push is off. It deletes the
// browsers whose session has ended.
func New(ctx context.Context, o Options) (p *Pusher, err error) {
	if o.Services == nil {
		o.Services = browserServices()
	}
	p = &Pusher{opts: o, services: servicesOf(o.Services), news: map[string]*notice{}, fails: map[string]int{}, wake: make(chan struct{}, 1)}
	if _, err := p.all(ctx); err != nil || o.Contact == "" {
		return nil, err
	}
	if p.client, err = o.client(); err != nil {
		return nil, err
	}
	// A redirect would take the message elsewhere; RFC 8030 has none.
	p.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if p.key, err = p.loadKey(ctx); err != nil {
		return nil, err
	}
	p.public, err = publicKey(p.key)
	return p, err
}

// PublicKey returns the key by which a browser's push service knows this host.
func (p *Pusher) PublicKey() string {
	if p == nil {
		return ""
	}
	return p.public
}

// Check returns an error if the services are no addresses.
func (s Settings) Check() error {
	_, err := s.client()
	return err
}

// client returns a client that reaches the push services and nothing else.
func (s Settings) client() (*http.Client, error) {
	var o transfer.Options
	for _, name := range s.Services {
		if strings.Contains(name, "://") {
			o.Origins = append(o.Origins, name)
		} else {
			o.Hosts = append(o.Hosts, strings.ToLower(name))
		}
	}
	return transfer.New(o)
}

// Notify enqueues notifications about a chat's newest message and returns at once. title
// names the chat.
func (p *Pusher) Notify(chat, title, from, text string) {
	if p == nil {
		return
	}
	n := &notice{Chat: chat, Title: title}
	if p.opts.Text {
		n.Text = media.Cut(from+": "+text, maxText)
	}
	p.mu.Lock()
	p.news[chat] = n
	p.mu.Unlock()
	wake.Up(p.wake)
}

// Run sends notifications until ctx is done. Its goroutines end with it.
func (p *Pusher) Run(ctx context.Context) {
	if p == nil {
		return
	}
	var all sync.WaitGroup
	for _, s := range p.services {
		all.Go(func() { p.serve(ctx, s) })
	}
	defer p.client.CloseIdleConnections()
	defer all.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		}
		p.mu.Lock()
		news := p.news
		p.news = map[string]*notice{}
		p.mu.Unlock()
		to, err := p.all(ctx)
		if err != nil && ctx.Err() == nil {
			p.opts.Log.Warn("browsers are not notified", "error", err)
		}
		for _, one := range p.away(to) {
			for _, n := range news {
				if s := find(p.services, one.Endpoint); s != nil {
					s.add(&job{to: one, what: n})
				}
			}
		}
	}
}

// away returns the browsers whose session has no open page.
func (p *Pusher) away(all []subscription) (out []subscription) {
	open, any := p.opts.Pages.Open()
	for _, one := range all {
		if one.session == nil && !any || one.session != nil && !open[string(one.session)] {
			out = append(out, one)
		}
	}
	return out
}

// serve sends the notifications that wait for one service.
func (p *Pusher) serve(ctx context.Context, s *service) {
	places := make(chan struct{}, maxSending)
	var sending sync.WaitGroup
	defer sending.Wait()
	for {
		j, wait := s.next(time.Now())
		if j != nil {
			select {
			case places <- struct{}{}:
			case <-ctx.Done():
				return
			}
			sending.Go(func() {
				defer func() { <-places; wake.Up(s.wake) }()
				p.deliver(ctx, s, j)
			})
			continue
		}
		var due <-chan time.Time
		if wait > 0 {
			due = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-due:
		}
	}
}

// deliver sends a notification and handles the service's answer. It deletes a browser that
// is gone, that cannot be reached, or that failed too often in a row.
func (p *Pusher) deliver(ctx context.Context, s *service, j *job) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	if still, err := p.has(ctx, j.to); err != nil || !still {
		return // signed out since
	}
	status, after, err := p.post(ctx, j)
	passing := err != nil || status == http.StatusTooManyRequests || status/100 == 5
	switch {
	case err == nil && status/100 == 2:
		p.failed(j.to.Endpoint, false)
		return
	case status == http.StatusNotFound, status == http.StatusGone, errors.Is(err, transfer.ErrRefused): // RFC 8030 section 7.3
	case passing && j.tries+1 < maxTries:
		s.retry(j, min(cmp.Or(after, firstWait<<j.tries), longestWait))
		return
	default:
		p.opts.Log.Warn("a browser was not notified", "service", cmp.Or(s.origin, s.host), "status", status, "error", transfer.WithoutAddress(err))
		if !p.failed(j.to.Endpoint, true) {
			return
		}
	}
	if err := p.remove(ctx, j.to); err != nil && ctx.Err() == nil {
		p.opts.Log.Warn("forget a browser's subscription", "error", err)
	}
}

// failed counts a browser's failures in a row, and reports whether there are too many.
func (p *Pusher) failed(endpoint string, again bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fails[endpoint]++; again && p.fails[endpoint] < maxFails {
		return false
	}
	delete(p.fails, endpoint)
	return again
}

// post sends a notification, and returns the answer's status and the time after which to
// try again.
func (p *Pusher) post(ctx context.Context, j *job) (status int, after time.Duration, err error) {
	to, err := url.Parse(j.to.Endpoint)
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %w", transfer.ErrRefused, err)
	}
	body, err := p.body(j)
	if err != nil {
		return 0, 0, err
	}
	token, err := vapid(p.key, to, p.opts.Contact, time.Now())
	if err != nil {
		return 0, 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, j.to.Endpoint, bytes.NewReader(body))
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %w", transfer.ErrRefused, err)
	}
	topic := sha256.Sum256(append(slices.Clone(j.to.Auth), j.what.Chat...)) // tells the service nothing of the chat's name
	for name, value := range map[string]string{
		"Authorization": token, "Content-Type": "application/octet-stream", "Content-Encoding": "aes128gcm", "Urgency": "normal",
		"TTL": fmt.Sprint(int(lifetime.Seconds())), "Topic": base64.RawURLEncoding.EncodeToString(topic[:24]), // the newest of a chat replaces the others
	} {
		req.Header.Set(name, value)
	}
	res, err := p.client.Do(req)
	if err != nil {
		return 0, 0, fmt.Errorf("notify a browser: %w", err)
	}
	transfer.Drain(res)
	return res.StatusCode, transfer.RetryAfter(res.Header, time.Now()), nil
}

func (p *Pusher) body(j *job) ([]byte, error) {
	text, err := json.Marshal(j.what)
	if err != nil {
		return nil, err
	}
	browser, err := ecdh.P256().NewPublicKey(j.to.P256dh)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", transfer.ErrRefused, err)
	}
	s, err := newSealer()
	if err != nil {
		return nil, err
	}
	return s.seal(browser, j.to.Auth, text, padded)
}
