package transfer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// maxAddresses bounds the addresses of one name that are tried.
const maxAddresses = 4

// proxy returns a request's proxy and records it, so that it may be dialled at any
// address: the operator has named it, not a member.
func (g *guard) proxy(req *http.Request) (*url.URL, error) {
	u, err := g.Network.Proxy(req)
	if u != nil {
		g.mu.Lock()
		g.written[authority(u)] = true
		g.mu.Unlock()
	}
	return u, err
}

// dialer resolves a name once and dials an address that it has checked.
func (g *guard) dialer(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		g.mu.Lock()
		written := g.written[strings.ToLower(address)]
		g.mu.Unlock()
		if written {
			return dial(ctx, network, address)
		}
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, fmt.Errorf("dial: %w", err)
		}
		addrs, err := g.resolve(ctx, host)
		if err != nil {
			return nil, err
		}
		var errs []error
		for _, a := range addrs[:min(len(addrs), maxAddresses)] {
			conn, err := dial(ctx, network, net.JoinHostPort(a.String(), port))
			if err == nil {
				return conn, nil
			}
			errs = append(errs, err)
		}
		return nil, errors.Join(errs...)
	}
}

// resolve returns the addresses of a name that may be dialled, at least one.
func (g *guard) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	all, err := g.Network.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("look up %q: %w", host, err)
	}
	var public []netip.Addr
	for _, a := range all {
		if a = a.Unmap(); Public(a) {
			public = append(public, a)
		}
	}
	if len(public) == 0 {
		return nil, fmt.Errorf("%w: %q has only addresses of private or reserved networks", ErrRefused, host)
	}
	return public, nil
}

// reserved are the networks that no server on the Internet has, from the IANA
// registries of special-purpose addresses, and one address that a cloud offers
// its machines for their configuration.
var reserved = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"168.63.129.16/32", // Azure's
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
)

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	nat64         = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052: the last four bytes are an IPv4 address
)

// Public reports whether an address belongs to the open Internet. An IPv4 address in an IPv6 form
// (mapped, or translated by NAT64) counts as the IPv4 address; 6to4 and Teredo are always refused.
func Public(a netip.Addr) bool {
	if a.Zone() != "" {
		return false
	}
	if a = a.Unmap(); nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	return a.IsValid() && (!a.Is6() || globalUnicast.Contains(a)) && !slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(a) })
}

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, 0, len(list))
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}
