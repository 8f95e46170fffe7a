package httpd

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

// Guard refuses requests that pages of other sites send through a browser. Such pages can send
// requests to this server and, by DNS rebinding, even read the answers.
type Guard struct {
	Names    Names    // that the server answers to
	Hint     string   // how an operator adds a name
	Policy   string   // Content-Security-Policy of the answers; empty: none
	Pages    []string // paths that open a page for a person, and may be linked to from other sites; /c/ stands for all below it
	Programs bool     // no page may use the server, its own neither
	cross    http.CrossOriginProtection
}

// NewGuard returns the Guard of a server at addr, which also answers to the names in more.
func NewGuard(addr net.Addr, hint string, more ...string) *Guard {
	return &Guard{Names: NamesOf(addr.String(), more...), Hint: hint}
}

// Wrap passes the requests that may go on to next. All answers are hardened.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		h := rw.Header()
		Harden(h)
		if g.Policy != "" {
			h.Set("Content-Security-Policy", g.Policy)
		}
		if p := g.check(r); p != nil {
			h.Set("Connection", "close")
			Fail(rw, p)
			return
		}
		next.ServeHTTP(rw, r)
	})
}

// Posts returns a handler that answers a POST with status and {} once take has no problem.
func (g *Guard) Posts(status int, take func(http.ResponseWriter, *http.Request) *Problem) http.Handler {
	var mux Mux
	mux.HandleFunc("POST /", func(rw http.ResponseWriter, r *http.Request) {
		if p := take(rw, r); p != nil {
			Fail(rw, p)
			return
		}
		Answer(rw, status, struct{}{})
	})
	return g.Wrap(&mux)
}

// check returns why a request is refused, or nil.
func (g *Guard) check(r *http.Request) *Problem {
	if !g.Names.Has(r.Host) {
		return Refuse(http.StatusMisdirectedRequest, "unknown_host", "this server does not answer to the name "+Quote(r.Host), g.Hint)
	}
	_, byPage := r.Header["Origin"]
	if g.Programs && (byPage || foreign(r)) {
		return Refuse(http.StatusForbidden, "cross_site", "requests of web pages are refused", "call it from a program")
	}
	byLink := g.opens(r.URL.Path) && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	if g.cross.Check(r) != nil || foreign(r) && !byLink {
		return Refuse(http.StatusForbidden, "cross_site", "requests from other sites are refused", "open the page by its own address")
	}
	return nil
}

func (g *Guard) opens(path string) bool {
	return slices.ContainsFunc(g.Pages, func(page string) bool {
		return path == page || len(page) > 1 && strings.HasSuffix(page, "/") && strings.HasPrefix(path, page)
	})
}

// foreign reports whether a browser sends the request for a page of another
// site, or of another port of this machine. Browsers say so in Sec-Fetch-Site;
// other programs do not send that header.
func foreign(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site != "" && site != "same-origin" && site != "none"
}

// Harden sets headers that keep a browser from running an answer or showing it inside another page.
func Harden(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	h.Set("Cache-Control", "no-store")
}
