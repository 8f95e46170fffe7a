package links

import (
	"net/http"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/httpd"
)

// share is what may be fetched in a minute, and at once. A download of a film in a player
// makes many requests for ranges.
type share struct{ minute, once int }

var (
	ofSender  = share{120, 8}  // an address, or the /64 of an IPv6 address
	ofNetwork = share{480, 32} // the /48 of IPv6 addresses: a site may have all of it
	ofLink    = share{600, 32} // one link
	ofAll     = share{1200, 64}
)

// gate limits requests for links of this host. Its memory is bounded by ofAll.
type gate struct {
	mu     sync.Mutex
	minute time.Time // when the counts began
	counts map[any]int
	inside map[any]int // requests under way
}

type all struct{}

// enter admits a request for a link, which calls leave at its end; nil: it is one too many.
func (g *gate) enter(r *http.Request, link string, now time.Time) (leave func()) {
	from := httpd.Sender(r)
	of := map[any]share{all{}: ofAll, link: ofLink}
	if !from.Addr().IsLoopback() { // a proxy that was not named: its members cannot be distinguished
		of[from] = ofSender
	}
	if site, err := from.Addr().Prefix(48); err == nil && from.Addr().Is6() {
		of[site] = ofNetwork
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside == nil {
		g.inside = map[any]int{}
	}
	if g.counts == nil || now.Sub(g.minute) >= time.Minute || now.Before(g.minute) {
		g.minute, g.counts = now, map[any]int{}
	}
	for name, s := range of {
		if g.counts[name] >= s.minute || g.inside[name] >= s.once {
			return nil
		}
	}
	for name := range of {
		g.counts[name]++
		g.inside[name]++
	}
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		for name := range of {
			if g.inside[name]--; g.inside[name] == 0 {
				delete(g.inside, name)
			}
		}
	}
}
