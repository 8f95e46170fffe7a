// Package gate bounds how many connections there are: of clients that have shown no token, and of
// each group.
package gate

import (
	"container/list"
	"context"
	"net"
	"sync"

	"github.com/longshore-bridge/longshore/host/httpd"
)

// Gate counts the connections of a server, as its httpd.Conns. Both bounds must be set.
type Gate struct {
	Strangers int // the most connections that have shown no token
	Group     int // the most connections of a group

	mu      sync.Mutex
	conns   map[net.Conn]*conn
	unknown list.List      // of net.Conn, the one that came first in front
	guests  map[string]int // by folder
}

// conn is a connection of a stranger, and of a group once it has shown a token.
type conn struct {
	place  *list.Element // among the strangers
	folder string
}

// Opened counts a new connection. A stranger too many replaces the one that has shown no token for
// the longest time: a client that sends its header at once gets in, however many others crawl.
func (g *Gate) Opened(c net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unknown.Len() >= g.Strangers {
		oldest := g.unknown.Front().Value.(net.Conn)
		g.leave(oldest)
		_ = oldest.Close()
	}
	if g.conns == nil {
		g.conns, g.guests = map[net.Conn]*conn{}, map[string]int{}
	}
	g.conns[c] = &conn{place: g.unknown.PushBack(c)}
}

// Closed uncounts a connection.
func (g *Gate) Closed(c net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leave(c)
}

// Admit counts the request's connection for a group. It returns false if the group has too
// many. A connection that shows another group's token counts for that one from then on.
func (g *Gate) Admit(ctx context.Context, folder string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.conns[httpd.ConnOf(ctx)]
	if c == nil || c.folder == folder { // it is closed, or there is none in a test
		return true
	}
	if g.guests[folder] >= g.Group {
		return false
	}
	g.uncount(c)
	c.folder = folder
	g.guests[folder]++
	return true
}

// leave forgets a connection. The caller holds mu.
func (g *Gate) leave(c net.Conn) {
	if known := g.conns[c]; known != nil {
		g.uncount(known)
		delete(g.conns, c)
	}
}

func (g *Gate) uncount(c *conn) {
	if c.folder == "" {
		g.unknown.Remove(c.place)
	} else if g.guests[c.folder]--; g.guests[c.folder] == 0 {
		delete(g.guests, c.folder)
	}
}
