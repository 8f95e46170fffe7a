// Package session decides who may use the chat page: requests that show the token, and
// browsers that have shown it and so have a session.
package session

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/state"
)

// The policies allow a page to load only what this server serves. Trusted Types make the
// browser refuse to turn a string into markup.
const (
	basePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; frame-src 'self'; manifest-src 'self'; " +
		"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
	pagePolicy   = basePolicy + "trusted-types 'none'"
	workerPolicy = basePolicy + "worker-src 'self'; trusted-types longshore-worker" // the one policy of Trusted Types that names the worker's script
)

// Options configure a Guard.
type Options struct {
	DB      *state.DB
	Channel string
	Token   string   // needed to use the page; empty: everybody may who reaches it
	Names   []string // under which the page is served, beside its address; with or without a port
	Push    bool     // pages run a service worker
}

// Guard decides which requests reach the handlers. It stops other sites and, if there is a
// token, requests without it.
type Guard struct {
	*httpd.Guard
	token    string
	cookie   string // the cookie's name; ports share their cookies, so it holds the port
	sessions *sessions
}

// NewGuard makes the guard of the page that is served at addr, and reads its sessions.
func NewGuard(ctx context.Context, o Options, addr net.Addr) (*Guard, error) {
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", addr, err)
	}
	hint := "open it by the address that the host printed; its operator can add one further name: channels.web.url in longshore.yaml"
	g := &Guard{Guard: httpd.NewGuard(addr, hint, o.Names...), token: o.Token, cookie: "longshore_" + port}
	g.Pages, g.Policy = []string{"/", "/c/"}, pagePolicy
	if o.Push {
		g.Policy = workerPolicy
	}
	g.sessions, err = open(ctx, o.DB, o.Channel, o.Token)
	return g, err
}

// Wrap passes the admitted requests to next.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return g.Guard.Wrap(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case g.token == "" || r.URL.Path == "/login" || r.URL.Path == "/logout" || strings.HasPrefix(r.URL.Path, "/assets/"):
			next.ServeHTTP(rw, r)
		case isPage(r) && r.URL.Query().Has("token"):
			g.Refuse(rw, r) // the form's script shows the token in its stead
		default:
			if r, ok := g.admitted(r); ok {
				next.ServeHTTP(rw, r)
				return
			}
			g.Refuse(rw, r)
		}
	}))
}
