package httpd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// MinToken is the length of the shortest token that a server accepts, in characters. A random token
// of that length cannot be guessed over a network, so attempts need not be counted.
const MinToken = 16

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
	l, err := net.Listen("tcp", a.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; another program may hold the port: choose another one with listen", a.Listen, err)
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

// endTime is how long requests may run on when the server ends.
const endTime = 5 * time.Second

// Serve serves until ctx is done, which is no error. It then calls ending,
// which must end everything that would go on for ever, such as streams. A
// request that takes 5 seconds longer is cut off; its client may repeat it.
// Bodies set their own deadlines: see QuickBody and Body. A client that does not read its
// answers, or reads them more slowly than 8 KiB/s for longer than half a minute, is cut off.
func Serve(ctx context.Context, l net.Listener, h http.Handler, log *slog.Logger, ending func()) error {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ConnState:         ownDeadlineEnds,
		ConnContext:       withConn,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(bounded{l}) }()
	var err error
	select {
	case <-ctx.Done():
	case err = <-served:
		err = fmt.Errorf("serve: %w", err)
	}
	ending()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	if srv.Shutdown(grace) != nil {
		_ = srv.Close()
	}
	if err == nil {
		<-served
	}
	return err
}
