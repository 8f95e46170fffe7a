package gate

import (
	"net"
	"testing"

	"github.com/longshore-bridge/longshore/host/httpd"
)

// TestAGroupHasItsConnections, and strangers theirs.
func TestAGroupHasItsConnections(t *testing.T) {
	g := &Gate{Strangers: 512, Group: 64}
	var conns []net.Conn
	come := func(folder string) bool {
		c := open(g)
		conns = append(conns, c)
		return g.Admit(httpd.WithConn(t.Context(), c), folder)
	}
	for i := range g.Group + 1 {
		if got := come("a"); got != (i < g.Group) {
			t.Errorf("connection %d: %v", i, got)
		}
	}
	if !come("b") || g.unknown.Len() != 1 {
		t.Error("one group's connections are another's", g.unknown.Len())
	}
	for _, c := range conns {
		g.Closed(c)
		g.Closed(c)
	}
	if g.unknown.Len() != 0 || len(g.guests) != 0 || len(g.conns) != 0 {
		t.Errorf("left: %d, %v, %v", g.unknown.Len(), g.guests, g.conns)
	}
}

// TestStrangersThatCrawlTakeNoPlaceFromOneThatComes: the one that has shown nothing for the
// longest time goes, and a guest stays.
func TestStrangersThatCrawlTakeNoPlaceFromOneThatComes(t *testing.T) {
	g := &Gate{Strangers: 512, Group: 64}
	guest := open(g)
	if !g.Admit(httpd.WithConn(t.Context(), guest), "a") {
		t.Fatal("not admitted")
	}
	first, second := open(g), open(g)
	for range g.Strangers - 2 {
		open(g)
	}
	if first.closed {
		t.Fatal("there was room")
	}
	if open(g); !first.closed || second.closed || guest.closed {
		t.Fatalf("closed: the first %t, the second %t, the guest %t; want the first alone", first.closed, second.closed, guest.closed)
	}
	g.Closed(first)
	if g.unknown.Len() != g.Strangers {
		t.Error(g.unknown.Len())
	}
}

// fake is a connection that notes its end.
type fake struct {
	net.Conn
	closed bool
}

func (f *fake) Close() error { f.closed = true; return nil }

func open(g *Gate) *fake {
	c := &fake{}
	g.Opened(c)
	return c
}
