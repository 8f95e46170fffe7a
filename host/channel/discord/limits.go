package discord

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/internal/cache"
)

var ids = regexp.MustCompile(`/[0-9]+|\?.*`)

// routeOf returns what Discord counts requests by: the method, the path without its ids, and the
// first id: discord.com/developers/docs/topics/rate-limits.
func routeOf(method, path string) string {
	if strings.HasPrefix(path, "interactions/") { // each has a secret in its path
		return method + " interactions"
	}
	major := ids.FindString(path)
	return method + " " + ids.ReplaceAllString(path, "") + major
}

// limits is a transport that makes no request before Discord takes it again, or after too many refusals:
// then the error is Passing or Held. Nothing waits here.
type limits struct {
	transfer.Transport
	base string

	until cache.Map[string, time.Time] // of a route

	mu     sync.Mutex
	global time.Time
	bad    int       // requests that were refused with 401, 403 or 429
	since  time.Time // from which these are counted
}

// Discord blocks the address of a bot with 10,000 bad requests in 10 minutes.
const (
	maxBad    = 1000
	badWindow = 10 * time.Minute
)

// RoundTrip implements http.RoundTripper. It reads the limits that each answer of the API states.
func (l *limits) RoundTrip(req *http.Request) (*http.Response, error) {
	path, ok := strings.CutPrefix(req.URL.String(), l.base)
	if !ok { // the gateway
		return l.Transport.RoundTrip(req)
	}
	route := routeOf(req.Method, path)
	if err := l.turn(route); err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	res, err := l.Transport.RoundTrip(req)
	if err == nil {
		l.note(route, res.StatusCode, res.Header)
	}
	return res, err
}

// turn returns why a request must not be made now; nil if it may.
func (l *limits) turn(route string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.bad >= maxBad && now.Before(l.since.Add(badWindow)) {
		return &channel.Error{Class: channel.Held, Code: "discord_paused", Message: "Discord has refused too many requests of the bot",
			Hint: "the host asks nothing for up to 10 minutes, since Discord blocks who goes on; the log says what it refused"}
	}
	until, _ := l.until.Get(route)
	if wait := max(l.global.Sub(now), until.Sub(now)); wait > 0 {
		return link.Slow(platformName, wait, nil)
	}
	return nil
}

// note records the limits that an answer states.
func (l *limits) note(route string, status int, h http.Header) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if h.Get("X-RateLimit-Remaining") == "0" {
		l.until.Set(route, now.Add(seconds(h.Get("X-RateLimit-Reset-After"))))
	}
	wait := seconds(h.Get("Retry-After"))
	switch {
	case status == http.StatusTooManyRequests && h.Get("X-RateLimit-Global") != "":
		l.global = now.Add(wait)
	case status == http.StatusTooManyRequests:
		l.until.Set(route, now.Add(wait))
	}
	if status == 401 || status == 403 || status == 429 && h.Get("X-RateLimit-Scope") != "shared" {
		if now.After(l.since.Add(badWindow)) {
			l.bad, l.since = 0, now
		}
		l.bad++
	}
}

// seconds reads a header's seconds, which may have a fraction.
func seconds(s string) time.Duration {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f > 0) {
		return 0
	}
	return min(time.Duration(min(f, 1e6)*float64(time.Second)), link.LongestWait)
}
