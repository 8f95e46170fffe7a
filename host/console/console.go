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
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

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
	guard     *httpd.Guard
	url       atomic.Pointer[string] // nil: nothing listens
	sessions  sessions
	overviews overviews
}

// New makes a Console that does not listen.
func New(o Options) *Console {
	const hint = "open it by the address that longshore page prints, or add the name to operator_page.hosts"
	guard := &httpd.Guard{Names: httpd.NamesOf(o.Listen, o.Hosts...), Hint: hint, Policy: csp, Pages: []string{"/"}}
	return &Console{o: o, guard: guard, overviews: overviews{control: o.Control}}
}

// Listen listens for Serve. It refuses an address that other machines can reach.
func (c *Console) Listen() (net.Listener, error) {
	l, err := httpd.Address{Listen: c.o.Listen}.Open()
	if err != nil {
		return nil, fmt.Errorf("serve the operator's page: %w", err)
	}
	url := httpd.URL(l.Addr())
	c.url.Store(&url)
	return l, nil
}

// Serve serves until ctx is done, which is no error, and closes l, which is of Listen.
func (c *Console) Serve(ctx context.Context, l net.Listener) error {
	c.o.Log.Info("serving the operator's page; longshore page prints an address to sign in", "url", httpd.URL(l.Addr()))
	defer c.overviews.end(lookTime)
	defer c.url.Store(nil)
	return (&httpd.Server{Handler: c.Handler(), Log: c.o.Log, Grace: 5 * time.Second}).Serve(ctx, l)
}

// SignIn returns an address that signs one browser in, once, within 10 minutes; empty while nothing
// listens. Its token is in the fragment, which browsers send to no server.
func (c *Console) SignIn() string {
	url := c.url.Load()
	if url == nil {
		return ""
	}
	return *url + "#" + c.sessions.token()
}

// The calls of the control protocol that the page may make.
var (
	reads = []string{"show", "log", "audit", "link"} // link is asked every second: the host logs it once
	acts  = []string{"retry", "drop", "decide", "operate-task", "stop", "reload"}
)

// Handler serves everything that Run serves, behind its guards.
func (c *Console) Handler() http.Handler {
	control := (&operator.Server{Control: c.o.Control, Log: c.o.Log}).Handler()
	var mux httpd.Mux
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { serveAsset(w, r, "index.html") })
	mux.HandleFunc("GET /assets/{name}", func(w http.ResponseWriter, r *http.Request) { serveAsset(w, r, r.PathValue("name")) })
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
	return c.guard.Wrap(&mux)
}

// csp allows the page to load only what this server serves. Trusted Types make the
// browser refuse to turn a string into markup.
const csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// acting logs a call that acts. What is shown after it is of after it.
func (c *Console) acting(control http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		arg, problem := httpd.ReadAll(w, r, 4<<10)
		if problem != nil {
			httpd.Fail(w, problem)
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
		if !c.sessions.use(httpd.Bearer(r)) {
			httpd.Fail(w, httpd.Refuse(http.StatusUnauthorized, "unauthorized", "this browser is not signed in, or its session has ended", "open a new address: longshore page"))
			return
		}
		next(w, r)
	}
}

// signIn begins a session for a browser that shows a token.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	body, problem := httpd.ReadAll(w, r, 4<<10)
	if problem != nil {
		httpd.Fail(w, problem)
		return
	}
	key, ok := c.sessions.begin(string(body))
	if !ok {
		httpd.Fail(w, httpd.Refuse(http.StatusUnauthorized, "unauthorized", "this address was used already, or is too old", "open a new one: longshore page"))
		return
	}
	c.o.Log.Info("a browser signed in to the operator's page")
	httpd.Answer(w, http.StatusOK, map[string]string{"key": key})
}

func (c *Console) signOut(w http.ResponseWriter, r *http.Request) {
	c.sessions.end(httpd.Bearer(r))
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
