package config

import (
	"cmp"
	"net"
	"net/netip"

	"github.com/longshore-bridge/longshore/host/channel"
)

// listeners refuses an address that two servers of the host would take: the later one could
// not start. A name other than localhost is not looked up.
func (c *checker) listeners() {
	type server struct {
		key string
		at  netip.AddrPort
	}
	var all []server
	take := func(key, listen string) {
		host, port, _ := net.SplitHostPort(listen)
		if host == "localhost" {
			host = "127.0.0.1"
		}
		at, err := netip.ParseAddrPort(net.JoinHostPort(cmp.Or(host, "::"), port))
		if err != nil || at.Port() == 0 { // no address of a network, or any free port
			return
		}
		for _, o := range all {
			if o.at.Port() == at.Port() && (covers(at.Addr(), o.at.Addr()) || covers(o.at.Addr(), at.Addr())) {
				if !c.has(key) && c.has(o.key) {
					key, o.key = o.key, key
				}
				c.bad(key, o.key+" has the same address", "give one of them another port")
				return
			}
		}
		all = append(all, server{key, at})
	}
	take("metrics.listen", c.cfg.Metrics.Listen)
	take("operator_page.listen", c.cfg.OperatorPage.Listen)
	take("remote.listen", c.cfg.Remote.Listen)
	for _, one := range c.cfg.Channels {
		if s, ok := one.Settings.(channel.ListenSettings); ok {
			take("channels."+one.Name+".listen", s.ListensAt())
		}
	}
}

// covers says whether a server at a also takes connections to b.
func covers(a, b netip.Addr) bool {
	return a == b || a.IsUnspecified() && (a.Is6() || b.Is4())
}
