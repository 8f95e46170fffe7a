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
	for _, l := range c.cfg.Listens() {
		take(l.Key+".listen", l.Address)
	}
}

// Listen is an address on which the host listens.
type Listen struct {
	Key     string // of longshore.yaml, before ".listen"
	Channel string // whose address it is; empty: another part's
	Address string // host:port
}

// Listens returns the addresses on which the host listens.
func (c *Config) Listens() (all []Listen) {
	for _, l := range []Listen{{"metrics", "", c.Metrics.Listen}, {"operator_page", "", c.OperatorPage.Listen}, {"remote", "", c.Remote.Listen}} {
		if l.Address != "" {
			all = append(all, l)
		}
	}
	for _, one := range c.Channels {
		if s, ok := one.Settings.(channel.ListenSettings); ok && s.ListensAt() != "" {
			all = append(all, Listen{"channels." + one.Name, one.Name, s.ListensAt()})
		}
	}
	return all
}

// covers says whether a server at a also takes connections to b.
func covers(a, b netip.Addr) bool {
	return a == b || a.IsUnspecified() && (a.Is6() || b.Is4())
}
