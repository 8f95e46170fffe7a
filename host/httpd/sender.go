package httpd

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the addresses of the proxies before a server.
type Proxies []netip.Prefix

// ParseProxies reads addresses and networks such as 10.0.0.0/8.
func ParseProxies(texts []string) (all Proxies, err error) {
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if addr, wrong := netip.ParseAddr(text); wrong == nil {
			network, err = addr.Prefix(addr.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("%q is neither an address nor a network", text)
		}
		all = append(all, network.Masked())
	}
	return all, nil
}

func (p Proxies) has(a netip.Addr) bool {
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(a) })
}

// Wrap gives each request the address of its client. Of a request that one of the proxies
// passes on, that is the last address in X-Forwarded-For that is none of a proxy. All
// others could write what they like there, so it is not believed.
func (p Proxies) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		from, all := remote(r), strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for i := len(all) - 1; i >= 0 && p.has(from); i-- {
			by, err := netip.ParseAddr(strings.TrimSpace(all[i]))
			if err != nil {
				break
			}
			from = by.Unmap().WithZone("")
		}
		if from != remote(r) {
			r = r.Clone(r.Context())
			r.RemoteAddr = net.JoinHostPort(from.String(), "0")
		}
		next.ServeHTTP(rw, r)
	})
}

func remote(r *http.Request) netip.Addr {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	addr, _ := netip.ParseAddr(host)
	return addr.Unmap().WithZone("")
}

// Sender returns the network that a request counts for: an IPv4 address, or the /64 of an IPv6
// address, which one machine may have for itself. It is invalid if there is no address.
func Sender(r *http.Request) netip.Prefix {
	addr := remote(r)
	if !addr.IsValid() {
		return netip.Prefix{}
	}
	network, _ := addr.Prefix(min(64, addr.BitLen()))
	return network
}
