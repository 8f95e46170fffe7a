package httpd

import (
	"net"
	"net/http"

	"github.com/longshore-bridge/longshore/internal/hostnames"
)

// Guard stops pages of other sites that somebody's browser has open: they can
// send requests here, and by DNS rebinding even read the answers.
type Guard struct {
	Names hostnames.Set // that the server answers to
	Hint  string        // how an operator adds a name
	cross http.CrossOriginProtection
}

// NewGuard guards a server at addr, which answers to more names as well.
func NewGuard(addr net.Addr, hint string, more ...string) *Guard {
	return &Guard{Names: hostnames.Of(addr.String(), more...), Hint: hint}
}

// Check is why a request is refused; nil: it may go on. opens says that the
// request may open a page for a person, which a link on another site leads to.
func (g *Guard) Check(r *http.Request, opens bool) *Problem {
	if !g.Names.Has(r.Host) {
		return Refuse(http.StatusMisdirectedRequest, "unknown_host", "this server does not answer to the name "+Quote(r.Host), g.Hint)
	}
	byLink := opens && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	if g.cross.Check(r) != nil || hostnames.Foreign(r) && !byLink {
		return Refuse(http.StatusForbidden, "cross_site", "requests from other sites are refused", "open the chat's own page")
	}
	return nil
}

// Harden sets what keeps a browser from running or showing an answer elsewhere.
func Harden(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	h.Set("Cache-Control", "no-store")
}
