package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// pageCSP lets a page load what this server serves and nothing else. Trusted
// Types make the browser refuse any attempt to turn a string into markup.
const pageCSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// guard decides which requests reach the handlers. It stops pages of other
// sites that a member's browser has open (they can send requests here, and by
// DNS rebinding even read the answers), and, where there is a token, whoever
// does not know it.
type guard struct {
	token  string
	cookie string // the cookie's name; ports share their cookies, so it holds the port
	value  string // the cookie's value; follows from the token but does not reveal it
	hosts  map[string]bool
	anyIP  bool // listening on every interface: any literal address is ours
	cross  *http.CrossOriginProtection
}

func newGuard(o Options, addr net.Addr) (*guard, error) {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return nil, fmt.Errorf("web: address %q: %w", addr, err)
	}
	g := &guard{token: o.Token, cookie: "longshore_" + port, hosts: map[string]bool{strings.ToLower(host): true}, cross: http.NewCrossOriginProtection()}
	if named, _, err := net.SplitHostPort(o.Listen); err == nil && o.Listener == nil {
		g.hosts[strings.ToLower(named)] = true
	}
	delete(g.hosts, "")
	for _, h := range o.Hosts {
		g.hosts[hostOf(h)] = true
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		g.anyIP = ip.IsUnspecified()
	}
	mac := hmac.New(sha256.New, []byte(o.Token))
	mac.Write([]byte("longshore web session 1"))
	g.value = hex.EncodeToString(mac.Sum(nil))
	return g, nil
}

func (g *guard) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		setHeaders(rw.Header())
		if r.ContentLength != 0 {
			quickBody(rw)
		}
		switch {
		case !g.knownHost(r.Host):
			fail(rw, &problem{http.StatusMisdirectedRequest, "unknown_host", "this server does not answer to the name " + quoteShort(r.Host),
				"open it by the address that the host printed, or add the name to the channel's hosts"})
		case g.cross.Check(r) != nil || foreignRead(r):
			fail(rw, &problem{http.StatusForbidden, "cross_site", "requests from other sites are refused", "open the chat's own page"})
		case g.token == "" || r.URL.Path == "/login" || strings.HasPrefix(r.URL.Path, "/assets/"):
			next.ServeHTTP(rw, r)
		case r.Method == http.MethodGet && r.URL.Query().Has("token"):
			g.loginByLink(rw, r)
		case g.knows(r):
			next.ServeHTTP(rw, r)
		default:
			g.refuse(rw, r)
		}
	})
}

// hostOf is the name or address in host:port or host.
func hostOf(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", pageCSP)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	h.Set("Cache-Control", "no-store")
}

// knownHost refuses names that a foreign DNS server could point here.
// Loopback's own names and literal addresses cannot be rebound.
func (g *guard) knownHost(hostport string) bool {
	host := hostOf(hostport)
	if isLoopback(host) || g.hosts[host] {
		return true
	}
	_, err := netip.ParseAddr(host)
	return err == nil && g.anyIP
}

// foreignRead says that a browser reads for a page of another site. Opening
// a page by a link from elsewhere is no such read.
func foreignRead(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	if site == "" || site == "same-origin" || site == "none" {
		return false
	}
	path := r.URL.Path
	isPage := path == "/" || strings.HasPrefix(path, "/c/")
	return !(isPage && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document")
}

// knows says whether the request carries the token or its cookie.
func (g *guard) knows(r *http.Request) bool {
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return same(bearer, g.token)
	}
	for _, c := range r.CookiesNamed(g.cookie) {
		if same(c.Value, g.value) {
			return true
		}
	}
	return false
}

// same compares without telling by its duration how much was right, not even
// the length.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// loginByLink turns ?token= into a cookie and takes it out of the address.
func (g *guard) loginByLink(rw http.ResponseWriter, r *http.Request) {
	if !same(r.URL.Query().Get("token"), g.token) {
		g.refuse(rw, r)
		return
	}
	g.admit(rw, r)
	to := url.URL{Path: "/"}
	if name, ok := strings.CutPrefix(r.URL.Path, "/c/"); ok && chatName.MatchString(name) {
		to.Path = r.URL.Path
	}
	http.Redirect(rw, r, to.String(), http.StatusSeeOther)
}

func (g *guard) admit(rw http.ResponseWriter, r *http.Request) {
	http.SetCookie(rw, &http.Cookie{
		Name: g.cookie, Value: g.value, Path: "/", MaxAge: 180 * 24 * 3600,
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
}

// refuse shows a person the login form and tells a program what is missing.
func (g *guard) refuse(rw http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") {
		renderLogin(rw, r.URL.Query().Has("token"))
		return
	}
	rw.Header().Set("WWW-Authenticate", `Bearer realm="longshore"`)
	fail(rw, &problem{http.StatusUnauthorized, "unauthorized", "the token is missing or wrong", "send it as Authorization: Bearer TOKEN"})
}

// login is the form's target.
func (w *Web) login(rw http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(rw, r.Body, 4<<10)
	if w.guard.token != "" && !same(r.PostFormValue("token"), w.guard.token) {
		renderLogin(rw, true)
		return
	}
	w.guard.admit(rw, r)
	http.Redirect(rw, r, "/", http.StatusSeeOther)
}
