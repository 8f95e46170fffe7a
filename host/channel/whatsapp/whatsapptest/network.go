package whatsapptest

import (
	"context"
	"net"
	"net/http"
	"net/netip"
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

// Lookup gives each name a public address of its own, 157.240.0.1 and so on.
// None is ever dialled.
func (n *Network) Lookup(_ context.Context, _, host string) ([]netip.Addr, error) {
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

// Client dials into this network. TLS is left out.
func (n *Network) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: n.Dial, DialTLSContext: n.Dial}}
}

// Dial notes the address, and connects to the server. What is on loopback is
// reached as it is: a host that may go there must be seen to arrive.
func (n *Network) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	n.Note(address)
	var d net.Dialer
	if to, err := netip.ParseAddrPort(address); err == nil && to.Addr().IsLoopback() {
		return d.DialContext(ctx, network, address)
	}
	return d.DialContext(ctx, network, n.to)
}

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

// Lookup gives every name one public address, for a client of [ClientFor],
// which dials the server whatever the address.
func Lookup(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.AddrFrom4([4]byte{157, 240, 0, 1})}, nil
}
