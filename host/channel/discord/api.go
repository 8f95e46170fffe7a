package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
)

const (
	apiURL    = "https://discord.com/api/v10/"
	maxAnswer = 4 << 20 // bytes
)

// lenient reads half a character as U+FFFD.
var lenient = jsontext.AllowInvalidUTF8(true)

// api is the client of Discord's HTTP API. It sends nothing to other hosts.
type api struct {
	base   string
	token  string
	client *http.Client      // to the API and the gateway
	files  *http.Client      // to the file server, which wants no token
	served map[string]string // by extension: where stickers are
	limits limits
	ahead  atomic.Int64 // ns that Discord's clock is ahead of the host's
}

// atDiscord converts a time of the host to Discord's clock, by the Date of its last answer.
func (a *api) atDiscord(t time.Time) time.Time { return t.Add(time.Duration(a.ahead.Load())) }

func newAPI(set *Settings, net Net, clock transfer.Clock) (*api, error) {
	a := &api{base: apiURL, token: set.BotToken.Reveal(), served: map[string]string{".png": "https://cdn.discordapp.com", ".gif": "https://media.discordapp.net"}}
	all := transfer.Options{Hosts: []string{"discord.com", ".discord.gg"}, Clock: clock}
	files := transfer.Options{Hosts: []string{"cdn.discordapp.com", "media.discordapp.net"}}
	if net.API != "" {
		u, err := url.Parse(net.API)
		if err != nil {
			return nil, err
		}
		a.base = net.API
		all.Origins = []string{u.Scheme + "://" + u.Host}
		files.Origins, a.served = all.Origins, map[string]string{".png": all.Origins[0], ".gif": all.Origins[0]}
	}
	var errAll, errFiles error
	a.client, errAll = transfer.New(all)
	a.files, errFiles = transfer.New(files)
	if err := errors.Join(errAll, errFiles); err != nil {
		return nil, err
	}
	a.client.Transport = noting{transfer.Transport{RoundTripper: a.client.Transport}, a}
	return a, nil
}

// at returns the address of a file. Of a sticker the channel keeps only the path:
// discord.com/developers/docs/reference, CDN Endpoints.
func (a *api) at(address string) string {
	if !strings.HasPrefix(address, "/") {
		return address
	}
	return a.served[path.Ext(address)] + address
}

// noting reads the limits that each answer of the API states.
type noting struct {
	transfer.Transport
	a *api
}

func (n noting) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := n.Transport.RoundTrip(req)
	if path, ok := strings.CutPrefix(req.URL.String(), n.a.base); ok && err == nil {
		n.a.limits.note(routeOf(req.Method, path), res.StatusCode, res.Header)
		if at, err := http.ParseTime(res.Header.Get("Date")); err == nil {
			n.a.ahead.Store(int64(time.Until(at)))
		}
	}
	return res, err
}

func (a *api) close() {
	a.client.CloseIdleConnections()
	a.files.CloseIdleConnections()
}

// userAgent has the form that Discord requires of bots: discord.com/developers/docs/reference,
// User Agent. Discord may block a bot without it.
func userAgent() string {
	version := "0"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = strings.Trim(info.Main.Version, "()")
	}
	return "DiscordBot (https://github.com/longshore-bridge/longshore, " + version + ")"
}

func (a *api) header() http.Header {
	return http.Header{"Authorization": {"Bot " + a.token}, "User-Agent": {userAgent()}}
}

// allowed says whom a message mentions.
type allowed struct {
	Parse []string `json:"parse"`
	Reply bool     `json:"replied_user"`
}

// call makes a request without files. in and out may be nil. A refusal has its class by the table
// in errors.go. Any other error is Passing, so the request must be one that may be repeated.
func (a *api) call(ctx context.Context, method, path string, in, out any) error {
	route := routeOf(method, path)
	if err := a.limits.turn(route); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	header, body := a.header(), []byte(nil)
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("encode %s: %w", route, err)
		}
		header.Set("Content-Type", "application/json")
	}
	answer, err := transfer.Ask(ctx, a.client, method, a.base+path, header, body, maxAnswer)
	switch {
	case err != nil:
		return link.Lost(platformName, err)
	case answer.Status/100 != 2:
		return refused(answer)
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(answer.Body, out, lenient); err != nil {
		return link.Lost(platformName, fmt.Errorf("read the answer of %s: %w", route, err))
	}
	return nil
}

// post makes a message. Its error is Ambiguous if Discord may have done so.
func (a *api) post(ctx context.Context, path string, b *transfer.Body, out any) error {
	route := routeOf(http.MethodPost, path)
	if err := a.limits.turn(route); err != nil {
		return errors.Join(err, b.Close())
	}
	got, err := transfer.Post(ctx, a.client, platformName, a.base+path, a.header(), b)
	if answer, ok := errors.AsType[*transfer.Answer](err); ok {
		return refused(answer)
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(got, out, lenient); err != nil {
		return &channel.Error{Class: channel.Ambiguous, Code: "no_answer", Message: "Discord answered something else", Err: err}
	}
	return nil
}

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

// limits holds until when Discord takes no requests. Nothing waits here: a request that is too
// early gets a Passing error or, after too many refusals, a Held one.
type limits struct {
	mu     sync.Mutex
	until  map[string]time.Time // of a route
	global time.Time
	bad    int       // requests that were refused with 401, 403 or 429
	since  time.Time // from which these are counted
}

const (
	maxRoutes = 10_000
	// Discord blocks the address of a bot with 10,000 bad requests in 10 minutes.
	maxBad    = 1000
	badWindow = 10 * time.Minute
)

// turn returns why a request must not be made now; nil if it may.
func (l *limits) turn(route string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.bad >= maxBad && now.Before(l.since.Add(badWindow)) {
		return &channel.Error{Class: channel.Held, Code: "discord_paused", Message: "Discord has refused too many requests of the bot",
			Hint: "the host asks nothing for up to 10 minutes, since Discord blocks who goes on; the log says what it refused"}
	}
	if wait := max(l.global.Sub(now), l.until[route].Sub(now)); wait > 0 {
		return link.Slow(platformName, wait, nil)
	}
	return nil
}

// note records the limits that an answer states.
func (l *limits) note(route string, status int, h http.Header) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.until == nil || len(l.until) >= maxRoutes {
		l.until = map[string]time.Time{}
	}
	if h.Get("X-RateLimit-Remaining") == "0" {
		l.until[route] = now.Add(seconds(h.Get("X-RateLimit-Reset-After")))
	}
	wait := seconds(h.Get("Retry-After"))
	switch {
	case status == http.StatusTooManyRequests && h.Get("X-RateLimit-Global") != "":
		l.global = now.Add(wait)
	case status == http.StatusTooManyRequests:
		l.until[route] = now.Add(wait)
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
