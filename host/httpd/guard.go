package httpd

import (
	"net"
	"net/http"
)

// Guard refuses requests that pages of other sites send through a browser. Such pages can send
// requests to this server and, by DNS rebinding, even read the answers.
type Guard struct {
	Names Names  // the names that the server answers to
	Hint  string // how an operator adds a name
	cross http.CrossOriginProtection
}

// NewGuard returns the Guard of a server at addr, which also answers to the names in more.
func NewGuard(addr net.Addr, hint string, more ...string) *Guard {
	return &Guard{Names: NamesOf(addr.String(), more...), Hint: hint}
}

// Posts returns a handler that answers with status and {} once take, which the checked requests
// come to, has no problem.
func (g *Guard) Posts(status int, take func(http.ResponseWriter, *http.Request) *Problem) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		Harden(rw.Header())
		problem := g.Check(r, false)
		if problem == nil {
			problem = take(rw, r)
		}
		if problem != nil {
			Fail(rw, problem)
			return
		}
		Answer(rw, status, struct{}{})
	})
}

// Check returns why a request is refused, or nil. opens means that the request
// may open a page for a person, so that a link on another site may lead to it.
func (g *Guard) Check(r *http.Request, opens bool) *Problem {
	if !g.Names.Has(r.Host) {
		return Refuse(http.StatusMisdirectedRequest, "unknown_host", "this server does not answer to the name "+Quote(r.Host), g.Hint)
	}
	byLink := opens && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	if g.cross.Check(r) != nil || Foreign(r) && !byLink {
		return Refuse(http.StatusForbidden, "cross_site", "requests from other sites are refused", "open the page by its own address")
	}
	return nil
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
