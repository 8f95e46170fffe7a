package web

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// minToken is the shortest token New takes. A random one of that length
// cannot be guessed over a network, so attempts need no counting.
const minToken = 16

func listen(o Options) (net.Listener, error) {
	if o.Token != "" && len(o.Token) < minToken {
		return nil, fmt.Errorf("web: the token has %d characters: use at least %d random ones, such as the output of `openssl rand -hex 16`", len(o.Token), minToken)
	}
	if len(o.Hosts) > 0 && o.Token == "" {
		return nil, errors.New("web: further host names make the page reachable by others: set a token too")
	}
	if o.Listener != nil {
		return o.Listener, checkExposure(o.Listener.Addr().String(), o.Token)
	}
	// Checked before listening, so that not even for an instant somebody
	// else can connect.
	if err := checkExposure(o.Listen, o.Token); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("web: listen on %s: %w; another program may hold the port: choose another one with listen", o.Listen, err)
	}
	return l, nil
}

// checkExposure refuses an address that others than this machine can reach,
// unless there is a token.
func checkExposure(addr, token string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("web: address %q: use host:port, such as 127.0.0.1:8420", addr)
	}
	if token != "" || isLoopback(host) {
		return nil
	}
	return fmt.Errorf("web: %q can be reached from other machines and there is no token: set one of at least %d random characters, or listen on 127.0.0.1", addr, minToken)
}

// isLoopback is by form: "localhost" and the loopback addresses.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.Unmap().IsLoopback()
}

// Addr is the address that New listens on.
func (w *Web) Addr() net.Addr { return w.listener.Addr() }

// URL is the index page's address, without the token. For an address that
// stands for every interface it names loopback.
func (w *Web) URL() string {
	host, port, err := net.SplitHostPort(w.listener.Addr().String())
	if err != nil {
		return ""
	}
	if ip, err := netip.ParseAddr(host); err != nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port) + "/"
}

// server has limits against clients that hold connections without using
// them. Bodies and streams set their own deadlines: see upload.go, events.go.
func (w *Web) server() *http.Server {
	return &http.Server{
		Handler:           w.Handler(),
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(w.log.Handler(), slog.LevelWarn),
	}
}

// Handler is everything that Run serves, behind its guards.
func (w *Web) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", w.index)
	mux.HandleFunc("GET /c/{chat}", w.page)
	mux.Handle("GET /assets/{name}", w.assets)
	mux.HandleFunc("POST /login", w.login)
	mux.HandleFunc("GET /api/chats", w.listChats)
	mux.HandleFunc("GET /api/chats/{chat}/messages", w.listMessages)
	mux.HandleFunc("POST /api/chats/{chat}/messages", w.post)
	mux.HandleFunc("POST /api/chats/{chat}/seen", w.seen)
	mux.HandleFunc("GET /api/chats/{chat}/events", w.events)
	mux.HandleFunc("GET /files/{id}/{name}", w.download)
	for pattern, h := range w.opts.Extra {
		mux.Handle(pattern, h)
	}
	return w.guard.wrap(mux)
}
