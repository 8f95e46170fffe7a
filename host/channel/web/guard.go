package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/host/channel/httpd"
)

// pageCSP allows a page to load only what this server serves. Trusted Types make the
// browser refuse to turn a string into markup.
const pageCSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; frame-src 'self'; manifest-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// csp returns pageCSP and, with Web Push, what the page needs to start its worker: the one
// policy of Trusted Types that names that script.
func csp(p Push) string {
	if p.Contact == "" {
		return pageCSP
	}
	return strings.Replace(pageCSP, "trusted-types 'none'", "worker-src 'self'; trusted-types longshore-worker", 1)
}

// guard decides which requests reach the handlers. It stops other sites and, if there is a
// token, requests without it.
type guard struct {
	*httpd.Guard
	token    string
	cookie   string // the cookie's name; ports share their cookies, so it holds the port
	sessions *sessions
	csp      string
}

func newGuard(o Options, addr net.Addr) (*guard, error) {
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", addr, err)
	}
	named := slices.Clone(o.Hosts)
	if o.Listener == nil {
		named = append(named, o.Listen)
	}
	hint := "open it by the address that the host printed; its operator can add one further name: channels.web.url in longshore.yaml"
	return &guard{Guard: httpd.NewGuard(addr, hint, named...), token: o.Token, cookie: "longshore_" + port, csp: csp(o.Push)}, nil
}

func (g *guard) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		httpd.Harden(rw.Header())
		rw.Header().Set("Content-Security-Policy", g.csp)
		if r.ContentLength != 0 {
			httpd.QuickBody(rw)
		}
		if p := g.Check(r, r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/c/")); p != nil {
			httpd.Fail(rw, p)
			return
		}
		switch {
		case g.token == "" || r.URL.Path == "/login" || r.URL.Path == "/logout" || strings.HasPrefix(r.URL.Path, "/assets/"):
			next.ServeHTTP(rw, r)
		case isPage(r) && r.URL.Query().Has("token"):
			g.refuse(rw, r) // the form's script shows the token in its stead
		default:
			if r, ok := g.admitted(r); ok {
				next.ServeHTTP(rw, r)
				return
			}
			g.refuse(rw, r)
		}
	})
}

// same compares in constant time and hides even the length.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
