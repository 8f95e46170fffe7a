package httpd

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
)

// Address is the address of a server, and who may use it.
type Address struct {
	Listen   string       // host:port; port 0 selects a free port
	Listener net.Listener // used instead of Listen if not nil
	Token    string       // the token that clients must send; required off loopback
	Hosts    []string     // further names, under which a proxy serves it; needs Token
}

// Open listens. It refuses an address that other machines can reach if there is
// no token. Every error is permanent, except a port that is in use.
func (a Address) Open() (net.Listener, error) {
	if a.Token != "" && len(a.Token) < MinToken {
		return nil, fmt.Errorf("the token has %d characters: use at least %d random ones, such as the output of `openssl rand -hex 16`", len(a.Token), MinToken)
	}
	if len(a.Hosts) > 0 && a.Token == "" {
		return nil, errors.New("further host names make the page reachable by others: set a token too")
	}
	if a.Listener != nil {
		return a.Listener, checkExposure(a.Listener.Addr().String(), a.Token)
	}
	// Checked before listening, so that nobody else can connect even for an instant.
	if err := checkExposure(a.Listen, a.Token); err != nil {
		return nil, err
	}
	return Listen(a.Listen)
}

// SocketPrefix begins the address of a unix socket.
const SocketPrefix = "unix:"

// Listen listens on an address, host:port or SocketPrefix and a path, for clients that show a token.
func Listen(address string) (net.Listener, error) {
	if path, socket := strings.CutPrefix(address, SocketPrefix); socket {
		return ListenUnix(path)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; another program may hold the port: choose another one with listen", address, err)
	}
	return l, nil
}

// Taken returns why nobody could listen on an address now, or nil.
func Taken(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return l.Close()
}

// ListenUnix listens on a socket for the host's own user. A socket that a host has left behind is
// replaced, another file is not.
func ListenUnix(path string) (*net.UnixListener, error) {
	at := &net.UnixAddr{Name: path, Net: "unix"}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == os.ModeSocket {
		c, err := net.DialUnix("unix", nil, at)
		if err == nil {
			return nil, errors.Join(fmt.Errorf("listen on %s: another program listens there", path), c.Close())
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.Remove(path)
		}
	}
	l, err := net.ListenUnix("unix", at)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("listen on %s: %w", path, err), l.Close())
	}
	return l, nil
}

// checkExposure refuses an address that other machines can reach, unless there is a token.
func checkExposure(addr, token string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("address %q: use host:port, such as 127.0.0.1:8420", addr)
	}
	if token != "" || Loopback(host) {
		return nil
	}
	return fmt.Errorf("%q can be reached from other machines and there is no token: set one of at least %d random characters, or listen on 127.0.0.1", addr, MinToken)
}

// URL returns a server's address for a browser on this machine. An address that
// stands for every interface becomes loopback.
func URL(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return ""
	}
	if ip, err := netip.ParseAddr(host); err != nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port) + "/"
}
