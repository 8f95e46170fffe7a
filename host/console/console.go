// Package console serves the operator's page: what the host does at this moment, and
// what an operator can do about it. It listens on loopback only.
//
// A browser signs in with a token that "longshore page" prints, which works once, and
// gets a key. The page keeps the key in the browser's storage for this origin and sends
// it in a header. There is no cookie, which browsers would send to every port of the
// machine, the members' page too; and another site cannot set the header.
//
// The package decides nothing: it passes calls on to an [operator.Control].
package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/operator"
)

// Options are the settings and parts of a Console.
type Options struct {
	Listen  string   // host:port on loopback; port 0 selects a free port
	Hosts   []string // further names, under which a proxy serves it
	Control operator.Control
	Log     *slog.Logger
}

// Console is the server of the operator's page. New makes one.
type Console struct {
	o         Options
	at        atomic.Pointer[address] // nil: nothing listens
	sessions  sessions
	overviews overviews
}

// address is where a Console listens.
type address struct {
	net.Listener
	guard *httpd.Guard
}

// New makes a Console that does not listen.
func New(o Options) *Console { return &Console{o: o, overviews: overviews{control: o.Control}} }

// Listen listens, if that is not done. It refuses an address that other machines can reach. Run
// must not be running.
func (c *Console) Listen() error {
	if c.at.Load() != nil {
		return nil
	}
	l, err := httpd.Address{Listen: c.o.Listen}.Open()
	if err != nil {
		return fmt.Errorf("serve the operator's page: %w", err)
	}
	const hint = "open it by the address that longshore page prints, or add the name to operator_page.hosts"
	c.at.Store(&address{l, httpd.NewGuard(l.Addr(), hint, c.o.Hosts...)})
	return nil
}

// Run serves where Listen listens until ctx is done, which is no error, and stops listening.
func (c *Console) Run(ctx context.Context) error {
	at := c.at.Load()
	c.o.Log.Info("serving the operator's page; longshore page prints an address to sign in", "url", httpd.URL(at.Addr()))
	defer c.overviews.end(lookTime)
	err := httpd.Serve(ctx, at, c.Handler(), c.o.Log, func() {})
	return errors.Join(err, c.Close())
}

// Close stops listening.
func (c *Console) Close() error {
	if at := c.at.Swap(nil); at != nil {
		if err := at.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
	}
	return nil
}

// SignIn returns an address that signs one browser in, once, within 10 minutes; empty while nothing
// listens. Its token is in the fragment, which browsers send to no server.
func (c *Console) SignIn() string {
	at := c.at.Load()
	if at == nil {
		return ""
	}
	return httpd.URL(at.Addr()) + "#" + c.sessions.token()
}

// The calls of the control protocol that the page may make.
var (
	reads = []string{"show", "log", "audit", "link"} // link is asked every second: the host logs it once
	acts  = []string{"retry", "drop", "decide", "operate-task", "stop", "reload"}
)

// Handler serves everything that Run serves, behind its guards. Listen has succeeded.
func (c *Console) Handler() http.Handler {
	control := (&operator.Server{Control: c.o.Control, Log: c.o.Log}).Handler()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", serveAsset("index.html"))
	mux.HandleFunc("GET /assets/{name}", func(w http.ResponseWriter, r *http.Request) { serveAsset(r.PathValue("name"))(w, r) })
	mux.HandleFunc("POST /sign-in", c.signIn)
	mux.HandleFunc("POST /sign-out", c.signedIn(c.signOut))
	mux.HandleFunc("GET /v1/overview", c.signedIn(c.overview))
	mux.HandleFunc("GET /v1/original/{id}", c.signedIn(c.original))
	for _, name := range reads {
		mux.HandleFunc("POST /v1/"+name, c.signedIn(control.ServeHTTP))
	}
	for _, name := range acts {
		mux.HandleFunc("POST /v1/"+name, c.signedIn(c.acting(control)))
	}
	return c.at.Load().guarded(mux)
}

// csp allows the page to load only what this server serves. Trusted Types make the
// browser refuse to turn a string into markup.
const csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

func (at *address) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpd.Harden(w.Header())
		w.Header().Set("Content-Security-Policy", csp)
		if r.ContentLength != 0 {
			httpd.QuickBody(w)
			r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
		}
		if p := at.guard.Check(r, r.URL.Path == "/"); p != nil {
			httpd.Fail(w, p)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// keyOf returns the key that a request shows; empty if none.
func keyOf(r *http.Request) string {
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return key
}

// acting logs a call that acts. What is shown after it is of after it.
func (c *Console) acting(control http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		arg, err := io.ReadAll(r.Body)
		if err != nil {
			httpd.Fail(w, httpd.Refuse(http.StatusBadRequest, operator.CodeBadCall, "the call did not arrive whole", ""))
			return
		}
		c.o.Log.Info("an operator's action on the page", "call", strings.TrimPrefix(r.URL.Path, "/v1/"), "of", httpd.Quote(string(arg)))
		r.Body = io.NopCloser(bytes.NewReader(arg))
		control.ServeHTTP(w, r) // the answer is short: it goes out when this returns
		c.overviews.outdate()
	}
}

// signedIn admits requests with a session's key.
func (c *Console) signedIn(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !c.sessions.use(keyOf(r)) {
			httpd.Fail(w, httpd.Refuse(http.StatusUnauthorized, "unauthorized", "this browser is not signed in, or its session has ended", "open a new address: longshore page"))
			return
		}
		next(w, r)
	}
}

// signIn begins a session for a browser that shows a token.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	key, ok := c.sessions.begin(string(body))
	if err != nil || !ok {
		httpd.Fail(w, httpd.Refuse(http.StatusUnauthorized, "unauthorized", "this address was used already, or is too old", "open a new one: longshore page"))
		return
	}
	c.o.Log.Info("a browser signed in to the operator's page")
	httpd.Answer(w, http.StatusOK, map[string]string{"key": key})
}

func (c *Console) signOut(w http.ResponseWriter, r *http.Request) {
	c.sessions.end(keyOf(r))
	httpd.Answer(w, http.StatusOK, struct{}{})
}

// original answers with the bytes of a refused request. They are foreign: the answer is
// a download under a name of ours, and no browser may guess its type.
func (c *Console) original(w http.ResponseWriter, r *http.Request) {
	item, err := c.o.Control.Show(r.Context(), r.PathValue("id"))
	if err != nil || item.Raw == "" {
		httpd.Fail(w, httpd.Refuse(http.StatusNotFound, operator.CodeNoBytes, "this item has no original", "only a refused request has one, unless it was too large or is gone"))
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="request.json"`)
	_, _ = io.WriteString(w, item.Raw) // a client that is gone needs no answer
}
