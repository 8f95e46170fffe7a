// Package transfer moves a channel's files: bounded in bytes, speed and room on the
// disk. It is the only way in which a channel fetches what a member named.
//
// A platform delivers addresses, paths and sizes in a member's name. They are
// the member's claims. [New] makes an HTTP client for one channel that
//
//   - speaks https on port 443, to the platform's own hosts, and to nothing else;
//   - checks every redirect in the same way, and follows three at most;
//   - resolves a name once and dials the address that it has checked: none of
//     this machine, of a private or link-local network, or of a cloud's
//     metadata service;
//   - waits 30 s at most for the first byte of an answer.
//
// An address that the operator wrote in the configuration (Options.Origins) is
// allowed as exactly that scheme, host and port.
//
// # Proxies
//
// A proxy that the environment names (HTTPS_PROXY) is an address of the operator's and is used. The
// proxy resolves the names then, so the check of addresses does not apply. What holds: only allowed
// names are asked for, by CONNECT, and the host's certificate must be valid for that name. NO_PROXY
// leads back to the direct way with all its checks.
//
// # Bounds
//
// [Speed] ends a transfer that is too slow, [File] takes no more bytes than it may, [Scratch] makes
// files for bytes on their way and fetches into them, and [Progress] reports how far an upload is.
// [Post] sends a message with its files, a [Body], to a platform that speaks HTTP.
package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// ErrRefused is in every error of the client for an address that it may not reach.
var ErrRefused = errors.New("address not allowed")

// HeaderTimeout is the longest time from a request's last byte to its answer's first. A
// long poll must ask its platform for less.
const HeaderTimeout = 30 * time.Second

const (
	maxRedirects  = 3
	dialTimeout   = 10 * time.Second // for each address
	tlsTimeout    = 10 * time.Second
	idleTimeout   = 90 * time.Second
	expectTimeout = time.Second // for "100 Continue", of a request that expects it
	maxHeader     = 64 << 10    // bytes of an answer's header
)

// Options are what the client of one channel may reach.
type Options struct {
	// Hosts are the platform's own: a name ("files.slack.com"), or with a dot
	// before it all names below that one (".whatsapp.net").
	Hosts []string

	// Origins are addresses that the operator wrote in the configuration for
	// this channel: scheme, host and port, http too. They may lie anywhere.
	Origins []string

	// Clock, if not nil, gets the Date of each answer.
	Clock Clock

	// Network is nil except in tests: the system's resolver, plain TCP, and the
	// environment's proxy.
	Network Network
}

// At returns Options for a platform that is at another address, such as a test's server. If address
// is empty, o is returned as it is.
func (o Options) At(address string) Options {
	if u, err := url.Parse(address); err == nil && address != "" {
		o.Origins = []string{u.Scheme + "://" + u.Host}
	}
	return o
}

// Clock takes the time of a platform.
type Clock interface{ ReportTime(platform time.Time) }

// Network resolves names and connects to addresses. The methods that dial get checked addresses.
type Network interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
	Proxy(*http.Request) (*url.URL, error)
}

// TLSNetwork is a Network that does TLS itself, in place of net/http.
type TLSNetwork interface {
	Network
	DialTLSContext(ctx context.Context, network, address string) (net.Conn, error)
}

// system is this machine's Network.
type system struct {
	*net.Resolver
	*net.Dialer
}

func (system) Proxy(req *http.Request) (*url.URL, error) { return http.ProxyFromEnvironment(req) }

// New makes the client. It returns an error if one of Origins is not scheme, host and port. The
// caller closes idle connections when the client is no longer used.
func New(o Options) (*http.Client, error) {
	if o.Network == nil {
		o.Network = system{net.DefaultResolver, &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}}
	}
	g := &guard{Options: o, written: map[string]bool{}}
	for _, written := range o.Origins {
		u, err := origin(written)
		if err != nil {
			return nil, err
		}
		g.origins = append(g.origins, u)
		g.written[authority(u)] = true
	}
	g.base = &http.Transport{
		Proxy:                  g.proxy,
		DialContext:            g.dialer(o.Network.DialContext),
		TLSHandshakeTimeout:    tlsTimeout,
		ResponseHeaderTimeout:  HeaderTimeout,
		IdleConnTimeout:        idleTimeout,
		ExpectContinueTimeout:  expectTimeout,
		MaxResponseHeaderBytes: maxHeader,
		DisableCompression:     true, // what is counted is what came
		ForceAttemptHTTP2:      true,
	}
	if tls, ok := o.Network.(TLSNetwork); ok {
		g.base.DialTLSContext = g.dialer(tls.DialTLSContext)
	}
	return &http.Client{Transport: g, CheckRedirect: checkRedirect}, nil
}

func origin(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, fmt.Errorf("%q is not scheme://host:port", s)
	}
	return u, nil
}

// checkRedirect only counts redirects: the guard checks each address itself.
func checkRedirect(_ *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("%w: more than %d redirects", ErrRefused, maxRedirects)
	}
	return nil
}

// guard is the transport. It checks every request, redirects too, and makes every connection
// with one of its dialers.
type guard struct {
	Options
	origins []*url.URL // Origins, parsed
	base    *http.Transport

	mu      sync.Mutex
	written map[string]bool // host:port that the operator wrote: the origins, and proxies that are in use
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := g.check(req.URL); err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	res, err := g.base.RoundTrip(req)
	if err == nil && g.Clock != nil {
		if at, err := http.ParseTime(res.Header.Get("Date")); err == nil {
			g.Clock.ReportTime(at)
		}
	}
	return res, err
}

// CloseIdleConnections closes the transport's idle connections for http.Client.
func (g *guard) CloseIdleConnections() { g.base.CloseIdleConnections() }

// check returns an error if an address may not be requested, by its form and name alone.
func (g *guard) check(u *url.URL) error {
	switch {
	case u.User != nil:
		return fmt.Errorf("%w: it holds a user name", ErrRefused)
	case u.Opaque != "":
		return fmt.Errorf("%w: it names no host", ErrRefused)
	case slices.ContainsFunc(g.origins, func(o *url.URL) bool { return u.Scheme == o.Scheme && authority(u) == authority(o) }):
		return nil
	case u.Scheme != "https":
		return fmt.Errorf("%w: %q is not https", ErrRefused, u.Scheme)
	case u.Port() != "" && u.Port() != "443":
		return fmt.Errorf("%w: port %q", ErrRefused, u.Port())
	case !g.allows(strings.ToLower(u.Hostname())):
		return fmt.Errorf("%w: host %q", ErrRefused, u.Hostname())
	}
	return nil
}

func (g *guard) allows(host string) bool {
	return plainName(host) && slices.ContainsFunc(g.Hosts, func(h string) bool {
		return host == h || strings.HasPrefix(h, ".") && strings.HasSuffix(host, h)
	})
}

// plainName reports whether a host consists of letters, digits, hyphens and
// single dots, of at most 253 bytes.
func plainName(host string) bool {
	if host == "" || len(host) > 253 || strings.Contains("."+host+".", "..") {
		return false
	}
	return !strings.ContainsFunc(host, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-.", r)
	})
}

// authority returns host:port, with the scheme's own port if the URL has none.
func authority(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme])
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
