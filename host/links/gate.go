package links

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// What may be fetched. A download of a film in a player makes many requests for ranges.
const (
	perMinute    = 120  // requests of one address
	allPerMinute = 1200 // of all
	atOnce       = 8    // of one address
	allAtOnce    = 64
)

// gate limits requests, for each address and in all. Its memory is bounded by allPerMinute.
type gate struct {
	mu     sync.Mutex
	minute time.Time      // when the counts began
	counts map[string]int // requests in this minute, by address
	total  int
	inside map[string]int // requests under way, by address
	all    int
}

// enter admits a request, which calls leave at its end; nil: it is one too many.
func (g *gate) enter(from string, now time.Time) (leave func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.counts == nil || now.Sub(g.minute) >= time.Minute || now.Before(g.minute) {
		g.minute, g.counts, g.total = now, map[string]int{}, 0
	}
	if g.counts[from] >= perMinute || g.total >= allPerMinute || g.inside[from] >= atOnce || g.all >= allAtOnce {
		return nil
	}
	if g.inside == nil {
		g.inside = map[string]int{}
	}
	g.counts[from]++
	g.total++
	g.inside[from]++
	g.all++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.all--
		if g.inside[from]--; g.inside[from] == 0 {
			delete(g.inside, from)
		}
	}
}

// sender is the address that a request counts for: an IPv4 address, or the /64 of an IPv6
// address. Of a request that a proxy of this machine or network passed on, it is the
// address that the proxy has put last into X-Forwarded-For.
func sender(r *http.Request) string {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return ""
	}
	if addr = addr.Unmap(); addr.IsLoopback() || addr.IsPrivate() {
		all := strings.Join(r.Header.Values("X-Forwarded-For"), ",")
		if by, err := netip.ParseAddr(strings.TrimSpace(all[strings.LastIndexByte(all, ',')+1:])); err == nil {
			addr = by.Unmap()
		}
	}
	if addr.Is6() {
		prefix, _ := addr.WithZone("").Prefix(64)
		return prefix.String()
	}
	return addr.String()
}
