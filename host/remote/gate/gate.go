// Package gate listens, and bounds how many connections there are: of clients that have shown
// no token, and of each group.
package gate

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
)

// SocketPrefix begins the address of a unix socket.
const SocketPrefix = "unix:"

// Listen opens an address. A socket that a host has left behind is replaced, another file
// is not. The socket is for the host's own user.
func Listen(address string) (net.Listener, error) {
	path, socket := strings.CutPrefix(address, SocketPrefix)
	if !socket {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return nil, fmt.Errorf("listen on %s: %w; another program may hold the port: choose another one with remote.listen", address, err)
		}
		return l, nil
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == os.ModeSocket {
		c, err := net.Dial("unix", path)
		if err == nil {
			return nil, errors.Join(fmt.Errorf("listen on %s: another program listens there", path), c.Close())
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.Remove(path)
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("listen on %s: %w", path, err), l.Close())
	}
	return l, nil
}

// Gate counts connections. Both bounds must be set.
type Gate struct {
	Strangers int // the most connections that have shown no token
	Group     int // the most connections of a group

	mu      sync.Mutex
	unknown list.List      // of *conn, the one that came first in front
	guests  map[string]int // by folder
}

// Count returns l with its connections counted. A stranger too many replaces the one that has
// shown no token for the longest time: a client that sends its header at once gets in, however
// many others crawl.
func (g *Gate) Count(l net.Listener) net.Listener { return &counted{l, g} }

type counted struct {
	net.Listener
	gate *Gate
}

func (l *counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	mine, oldest := l.gate.enter(c)
	if oldest != nil {
		_ = oldest.Close()
	}
	return mine, nil
}

// enter counts a new connection, and returns the one that has to go for it, or nil.
func (g *Gate) enter(raw net.Conn) (c, oldest *conn) {
	c = &conn{Conn: raw, gate: g}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unknown.Len() >= g.Strangers {
		oldest = g.unknown.Front().Value.(*conn)
	}
	c.place = g.unknown.PushBack(c)
	return c, oldest
}

// conn is a connection of a stranger, and of a group once it has shown a token.
type conn struct {
	net.Conn
	gate   *Gate
	place  *list.Element // among the strangers
	folder string        // guarded by gate.mu, as closed is
	closed bool
}

type connKey struct{}

// WithConn is the ConnContext of a server whose listener is counted.
func WithConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// Admit counts the request's connection for a group. It returns false if the group has too
// many. A connection that shows another group's token counts for that one from then on.
func (g *Gate) Admit(ctx context.Context, folder string) bool {
	c, ok := ctx.Value(connKey{}).(*conn)
	if !ok { // a recorder of a test
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.folder == folder || c.closed {
		return true
	}
	if g.guests[folder] >= g.Group {
		return false
	}
	g.leave(c)
	if g.guests == nil {
		g.guests = map[string]int{}
	}
	c.folder = folder
	g.guests[folder]++
	return true
}

// leave uncounts a connection. The caller holds mu.
func (g *Gate) leave(c *conn) {
	if c.folder == "" {
		g.unknown.Remove(c.place)
	} else if g.guests[c.folder]--; g.guests[c.folder] == 0 {
		delete(g.guests, c.folder)
	}
}

func (c *conn) Close() error {
	c.gate.mu.Lock()
	if !c.closed {
		c.closed = true
		c.gate.leave(c)
	}
	c.gate.mu.Unlock()
	return c.Conn.Close()
}
