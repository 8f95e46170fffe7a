// Package hostnames decides which names a server answers to.
//
// A foreign website can let its own name point at this machine (DNS
// rebinding). The visitor's browser then takes this server for a part of that
// site, and lets the site read the answers. The Host header still holds the
// foreign name, so a server that answers to its own names only is safe from it.
package hostnames

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Set is the names of one server. The zero Set has those of loopback only.
type Set struct {
	names map[string]bool
	anyIP bool
}

// Of returns the names of a server that listens at addr, which is host:port:
// the names of loopback, the host in addr, and more, with or without a port. If
// addr stands for every interface, each literal address is one of its names,
// since a literal address cannot be rebound.
func Of(addr string, more ...string) Set {
	s := Set{names: map[string]bool{}}
	for _, hostport := range append([]string{addr}, more...) {
		if host := hostOf(hostport); host != "" {
			s.names[host] = true
		}
	}
	ip, literal := address(hostOf(addr))
	s.anyIP = literal && ip.IsUnspecified()
	return s
}

// Has says whether hostport, as the Host header has it, is a name of the
// server.
func (s Set) Has(hostport string) bool {
	host := hostOf(hostport)
	if Loopback(host) || s.names[host] {
		return true
	}
	_, literal := address(host)
	return literal && s.anyIP
}

// Loopback says, by form alone, that host is "localhost" or a loopback
// address.
func Loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, literal := address(strings.Trim(host, "[]"))
	return literal && ip.Unmap().IsLoopback()
}

// address reads a literal address. One with a zone is none: a zone is free
// text, which a name can hide in, and no browser sends it.
func address(host string) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(host)
	return ip, err == nil && ip.Zone() == ""
}

// Foreign says that a browser sends the request for a page of another site, of
// another port of this machine too. Browsers say so themselves, by
// Sec-Fetch-Site; programs that are no browser do not.
func Foreign(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site != "" && site != "same-origin" && site != "none"
}

// hostOf is the name or address in host:port or host.
func hostOf(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}
