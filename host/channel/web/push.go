package web

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
	"github.com/longshore-bridge/longshore/media"
)

// Push configures how browsers are notified while no page is open: Web Push, RFC 8030.
// The zero Push is off.
type Push struct {
	Contact  string   // how a push service reaches the operator, mailto:… or https://…; empty: off
	Text     bool     // a notification holds the beginning of the message
	Services []string // where endpoints may lie: a host, with a dot before it all below it, or scheme://host:port; pushServices when nil
}

// pushServices returns the hosts of the endpoints of Chrome, Firefox, Edge and Safari, as
// their makers document them.
func pushServices() []string {
	return []string{"fcm.googleapis.com", "updates.push.services.mozilla.com", ".notify.windows.com", "web.push.apple.com"}
}

const (
	pushWait    = 5 * time.Second  // before a service that failed is asked again, if it names no time
	pushMost    = 10 * time.Minute // that a service is waited for
	pushTime    = 30 * time.Second // for one request
	pushTries   = 3
	pushFails   = 20   // notifications in a row, after which a browser is forgotten
	pushAtOnce  = 4    // requests to one service
	pushWaiting = 1000 // notifications for one service; beyond it the oldest is dropped
	pushLife    = 24 * time.Hour
	pushText    = 200 // characters of a message
)

// pusher notifies browsers. A notification is no delivery: it is attempted a few times, and
// lost if the host ends.
type pusher struct {
	set      Push
	store    *store
	hub      *hub
	client   *http.Client
	key      *ecdsa.PrivateKey
	public   string
	log      *slog.Logger
	services []*pushService

	mu    sync.Mutex
	news  map[string]*pushed // by chat: the newest
	fails map[string]int     // in a row, by endpoint
	wake  chan struct{}      // holds a value when there is news
}

// pushed is a notification, as the page's service worker reads it.
type pushed struct {
	Chat  string `json:"chat"`
	Title string `json:"title"`
	Text  string `json:"text,omitempty"`
}

func newPusher(ctx context.Context, set Push, s *store, h *hub, log *slog.Logger) (*pusher, error) {
	p := &pusher{set: set, store: s, hub: h, log: log, news: map[string]*pushed{}, fails: map[string]int{}, wake: make(chan struct{}, 1)}
	if set.Services == nil {
		p.set.Services = pushServices()
	}
	for _, name := range p.set.Services {
		one := &pushService{host: strings.ToLower(name), wake: make(chan struct{}, 1)}
		if strings.Contains(name, "://") {
			one.host, one.origin = "", authority(name)
		}
		p.services = append(p.services, one)
	}
	var err error
	if p.client, err = p.set.client(); err != nil {
		return nil, err
	}
	// A redirect would take the message elsewhere; RFC 8030 has none.
	p.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if p.key, err = s.pushKey(ctx); err == nil {
		p.public, err = publicKey(p.key)
	}
	return p, err
}

// client returns a client that reaches the push services and nothing else.
func (s Push) client() (*http.Client, error) {
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

// openPush opens the store of Web Push if it is on.
func (w *Web) openPush() (err error) {
	ctx := context.Background()
	if w.opts.Token != "" {
		if err := w.store.dropOpenPush(ctx); err != nil {
			return err
		}
	}
	if w.opts.Push.Contact != "" {
		w.push, err = newPusher(ctx, w.opts.Push, w.store, w.hub, w.log)
	}
	return err
}

// authority returns the scheme, host and port of an address.
func authority(address string) string {
	u, err := url.Parse(strings.ToLower(address))
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Hostname() + ":" + cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

// service returns the service of an endpoint, or nil if no listed service matches.
func (p *pusher) service(endpoint string) *pushService {
	u := endpointURL(endpoint)
	if u == nil {
		return nil
	}
	host := strings.ToLower(u.Hostname())
	for _, s := range p.services {
		switch {
		case s.origin != "":
			if authority(endpoint) == s.origin {
				return s
			}
		case u.Scheme != "https" || u.Port() != "" && u.Port() != "443":
		case host == s.host, strings.HasPrefix(s.host, ".") && strings.HasSuffix(host, s.host):
			return s
		}
	}
	return nil
}

// notify enqueues notifications about a chat's newest message and returns at once. It does
// nothing on a nil pusher.
func (p *pusher) notify(r *room, ms []*Message) {
	if p == nil || len(ms) == 0 {
		return
	}
	m := ms[len(ms)-1]
	n := &pushed{Chat: r.name, Title: cleanName(r.Name, r.name)}
	if p.set.Text {
		text := m.quote().Text // without marks
		if m.File != nil {
			text = cmp.Or(text, m.File.Name)
		}
		n.Text = media.Cut(m.From+": "+text, pushText)
	}
	p.mu.Lock()
	p.news[r.name] = n
	p.mu.Unlock()
	poke(p.wake)
}

// run sends notifications until ctx is done. Its goroutines end with it.
func (p *pusher) run(ctx context.Context) {
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
		p.news = map[string]*pushed{}
		p.mu.Unlock()
		to, err := p.store.allPush(ctx)
		if err != nil && ctx.Err() == nil {
			p.log.Warn("browsers are not notified", "error", err)
		}
		for _, one := range p.away(to) {
			for _, n := range news {
				if s := p.service(one.Endpoint); s != nil {
					s.add(&pushJob{to: one, what: n})
				}
			}
		}
	}
}

// away returns the browsers whose session has no open page.
func (p *pusher) away(all []subscription) (out []subscription) {
	open, any := p.hub.open()
	for _, one := range all {
		if one.session == nil && !any || one.session != nil && !open[string(one.session)] {
			out = append(out, one)
		}
	}
	return out
}

// serve sends the notifications that wait for one service.
func (p *pusher) serve(ctx context.Context, s *pushService) {
	places := make(chan struct{}, pushAtOnce)
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
				defer func() { <-places; poke(s.wake) }()
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
func (p *pusher) deliver(ctx context.Context, s *pushService, j *pushJob) {
	ctx, cancel := context.WithTimeout(ctx, pushTime)
	defer cancel()
	if still, err := p.store.hasPush(ctx, j.to); err != nil || !still {
		return // signed out since
	}
	status, after, err := p.post(ctx, j)
	passing := err != nil || status == http.StatusTooManyRequests || status/100 == 5
	switch {
	case err == nil && status/100 == 2:
		p.failed(j.to.Endpoint, false)
		return
	case status == http.StatusNotFound, status == http.StatusGone, errors.Is(err, transfer.ErrRefused): // RFC 8030 section 7.3
	case passing && j.tries+1 < pushTries:
		s.retry(j, min(cmp.Or(after, pushWait<<j.tries), pushMost))
		return
	default:
		p.log.Warn("a browser was not notified", "service", cmp.Or(s.origin, s.host), "status", status, "error", withoutAddress(err))
		if !p.failed(j.to.Endpoint, true) {
			return
		}
	}
	if err := p.store.dropPush(ctx, j.to.Endpoint, j.to.session); err != nil && ctx.Err() == nil {
		p.log.Warn("forget a browser's subscription", "error", err)
	}
}

// failed counts a browser's failures in a row, and reports whether there are too many.
func (p *pusher) failed(endpoint string, again bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fails[endpoint]++; again && p.fails[endpoint] < pushFails {
		return false
	}
	delete(p.fails, endpoint)
	return again
}

// withoutAddress removes the endpoint, which is a secret, from a client's error.
func withoutAddress(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// post sends a notification, and returns the answer's status and the time after which to
// try again.
func (p *pusher) post(ctx context.Context, j *pushJob) (status int, after time.Duration, err error) {
	to, err := url.Parse(j.to.Endpoint)
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %w", transfer.ErrRefused, err)
	}
	body, err := p.body(j)
	if err != nil {
		return 0, 0, err
	}
	token, err := vapid(p.key, to, p.set.Contact, time.Now())
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
		"TTL": fmt.Sprint(int(pushLife.Seconds())), "Topic": base64.RawURLEncoding.EncodeToString(topic[:24]), // the newest of a chat replaces the others
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

func (p *pusher) body(j *pushJob) ([]byte, error) {
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
	return s.seal(browser, j.to.Auth, text, pushPadded)
}
