package httpd

import (
	"net"
	"net/netip"
	"strings"
)

// Names are the names that one server answers to; of the zero Names, those of loopback.
//
// A foreign website can make its own name point at this machine (DNS rebinding). The visitor's
// browser then takes this server for a part of that site, and lets the site read the answers. The
// Host header still contains the foreign name.
type Names struct {
	names map[string]bool
	anyIP bool
}

// NamesOf returns the names of a server that listens at addr, which is host:port:
// the names of loopback, the host in addr, and more, each with or without a
// port. If addr means every interface, as without a host, every literal address is also a name,
// since a literal address cannot be rebound.
func NamesOf(addr string, more ...string) Names {
	s := Names{names: map[string]bool{}}
	for _, hostport := range append([]string{addr}, more...) {
		if host := hostOf(hostport); host != "" {
			s.names[host] = true
		}
	}
	ip, literal := address(hostOf(addr))
	s.anyIP = literal && ip.IsUnspecified() || strings.HasPrefix(addr, ":")
	return s
}

// Has reports whether hostport, in the form of the Host header, is a name of
// the server.
func (s Names) Has(hostport string) bool {
	host := hostOf(hostport)
	if Loopback(host) || s.names[host] {
		return true
	}
	_, literal := address(host)
	return literal && s.anyIP
}

// Loopback reports, by its form alone, whether host is "localhost" or a
// loopback address.
func Loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, literal := address(strings.Trim(host, "[]"))
	return literal && ip.Unmap().IsLoopback()
}

// address parses a literal address. An address with a zone does not count: a
// zone is free text that can hide a name, and no browser sends one.
func address(host string) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(host)
	return ip, err == nil && ip.Zone() == ""
}

// hostOf returns the name or address in host:port or host.
func hostOf(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}
