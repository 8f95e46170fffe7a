package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
)

// linksPath is where Options.Links is served.
const linksPath = "/links/"

// withLinks serves links before the page's guard: a member needs only the link's address,
// under any name that a proxy serves it by.
func (w *Web) withLinks(page http.Handler) http.Handler {
	if w.opts.Links == nil {
		return page
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, linksPath) {
			w.opts.Links.ServeHTTP(rw, r)
			return
		}
		page.ServeHTTP(rw, r)
	})
}

// Links implements channel.LinkSettings.
func (s *Settings) Links() (channel.LinkTerms, bool) {
	terms := channel.LinkTerms{
		URL: strings.TrimRight(s.PublicURL, "/"), For: s.LinkExpiry.Std(), Largest: int64(s.LinkSize), Quota: int64(s.LinkQuota),
	}
	return terms, s.PublicURL != ""
}

// checkLinks requires an address that members can open and nobody in between can read. A
// proxy serves it, so the page is behind the proxy too.
func (s *Settings) checkLinks(c channel.Checker, open bool) {
	if s.LinkQuota < s.LinkSize {
		c.Bad("link_quota", fmt.Sprintf("one file may be larger than that: link_size is %v", s.LinkSize), "raise it, or lower link_size")
	}
	if s.LinkExpiry.Std() > 365*24*time.Hour {
		c.Bad("link_expiry", "a link may be followed for a year at most", "write a shorter time, such as 168h")
	}
	if s.PublicURL == "" {
		return
	}
	u, err := url.Parse(s.PublicURL)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery ||
		strings.ContainsAny(s.PublicURL, "()<>[]*_~`|\\\"' \t") {
		c.Bad("public_url", fmt.Sprintf("%q is no address for links: it begins with https:// and has a host, perhaps a path, and nothing else", s.PublicURL),
			"write it as https://files.example.org")
		return
	}
	if open {
		c.Bad("public_url", "other machines reach the page through the proxy that serves this, and there is no token", "set token: ${NAME} or token_file:")
	}
}
