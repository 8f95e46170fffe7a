package whatsapptest

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
)

// Network is a network in which every name leads to one server, and which
// notes where somebody wanted to go. Its methods may be called from any
// goroutine.
type Network struct {
	to string // host and port of the server

	mu    sync.Mutex
	names map[netip.Addr]string
	dials []string
}

// NewNetwork makes one that leads to the server at addr.
func NewNetwork(addr string) *Network {
	return &Network{to: addr, names: map[netip.Addr]string{}}
}

// LookupNetIP gives each name a public address of its own, 157.240.0.1 and so on.
// None is ever dialled.
func (n *Network) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for addr, name := range n.names {
		if name == host {
			return []netip.Addr{addr}, nil
		}
	}
	i := len(n.names) + 1
	addr := netip.AddrFrom4([4]byte{157, 240, byte(i >> 8), byte(i)})
	n.names[addr] = host
	return []netip.Addr{addr}, nil
}

// DialContext notes the address, and connects to the server. What is on loopback is
// reached as it is: a host that may go there must be seen to arrive.
func (n *Network) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	n.Note(address)
	var d net.Dialer
	host, _, _ := net.SplitHostPort(address)
	if to, err := netip.ParseAddr(host); err == nil && to.IsLoopback() {
		return d.DialContext(ctx, network, address)
	}
	return d.DialContext(ctx, network, n.to)
}

// DialTLSContext is DialContext: TLS is left out.
func (n *Network) DialTLSContext(ctx context.Context, network, address string) (net.Conn, error) {
	return n.DialContext(ctx, network, address)
}

// Proxy names none.
func (n *Network) Proxy(*http.Request) (*url.URL, error) { return nil, nil }

// Note adds an address to those that were dialled.
func (n *Network) Note(address string) {
	host, port, err := net.SplitHostPort(address)
	n.mu.Lock()
	defer n.mu.Unlock()
	if addr, bad := netip.ParseAddr(host); err == nil && bad == nil && n.names[addr] != "" {
		address = net.JoinHostPort(n.names[addr], port)
	}
	if !slices.Contains(n.dials, address) {
		n.dials = append(n.dials, address)
	}
}

// Dialled are the different addresses that were dialled, by name if they were
// looked up.
func (n *Network) Dialled() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.dials)
}

// ClientFor returns an HTTP client that reaches the server at addr
// (host:port), whatever host and scheme a request names, without TLS. Given to
// a whatsmeow client's setters for websocket, pre-login and media, it keeps
// all of its traffic there. The caller closes its idle connections.
func ClientFor(addr string) *http.Client {
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, addr)
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial, DialTLSContext: dial}}
}
