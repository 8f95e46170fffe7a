package keys

import (
	"net/http"
	"strings"

	"github.com/longshore-bridge/longshore/host/httpd"
)

// Guard is the proxy for callers who know the pass. On a machine that several users share,
// others can reach the port at which an assistant finds its model. The assistant has the
// pass for a key, and its CLI sends it in a header of its own choice.
func (p *Proxy) Guard(pass string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !carries(r.Header, pass) {
			(&refusal{http.StatusUnauthorized, "this is another assistant's way to its model"}).write(w, formOf(r.RequestURI))
			return
		}
		p.ServeHTTP(w, r)
	})
}

// carries reports whether a header is the pass, or a scheme and the pass.
func carries(h http.Header, pass string) bool {
	for _, values := range h {
		for _, v := range values {
			_, token, scheme := strings.Cut(v, " ")
			if httpd.Same(v, pass) || scheme && httpd.Same(token, pass) {
				return true
			}
		}
	}
	return false
}
