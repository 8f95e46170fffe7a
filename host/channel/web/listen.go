package web

import (
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/host/channel/web/assets"
	"github.com/longshore-bridge/longshore/host/httpd"
)

// address returns where the page is served.
func (o Options) address() httpd.Address {
	return httpd.Address{Listen: o.Listen, Listener: o.Listener, Token: o.Token, Hosts: o.Hosts}
}

// names returns the names under which the page is served, beside its address.
func (o Options) names() []string {
	if o.Listener != nil {
		return o.Hosts
	}
	return append(slices.Clone(o.Hosts), o.Listen)
}

// Addr returns the address on which Open listens.
func (w *Web) Addr() net.Addr { return w.listener.Addr() }

// URL returns the address of the index page once the channel is open, without the token. If
// the page listens on all interfaces, URL names loopback.
func (w *Web) URL() string {
	if !w.opened.Load() {
		return ""
	}
	return httpd.URL(w.listener.Addr())
}

// Handler returns the handler of everything that Run serves, behind its guards.
func (w *Web) Handler() http.Handler {
	var mux httpd.Mux
	for pattern, serve := range w.routes() {
		mux.HandleFunc(pattern, serve)
	}
	return w.opts.Proxies.Wrap(w.withLinks(w.guard.Wrap(&mux)))
}

// routes returns the handler of each route.
func (w *Web) routes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET /{$}":                          w.index,
		"GET /c/{chat}":                     w.page,
		"GET /assets/{name}":                assets.Serve,
		"GET /login":                        w.guard.LoginPage,
		"POST /login":                       w.call(w.guard.Login),
		"POST /logout":                      w.call(w.guard.Logout),
		"GET /api/chats":                    w.call(w.listChats),
		"POST /api/mark":                    w.call(w.mark),
		"POST /api/push":                    w.call(w.push.Subscribe),
		"DELETE /api/push":                  w.call(w.push.Subscribe),
		"GET /api/chats/{chat}/messages":    w.inChat(w.listMessages),
		"POST /api/chats/{chat}/messages":   w.inChat(w.post),
		"POST /api/chats/{chat}/seen":       w.inChat(w.seen),
		"POST /api/chats/{chat}/acts":       w.inChat(w.act),
		"GET /api/chats/{chat}/events":      w.inChat(w.events),
		"GET /api/chats/{chat}/tasks":       w.inChat(w.listTasks),
		"POST /api/chats/{chat}/tasks/{id}": w.inChat(w.operateTask),
		"GET /files/{id}/{name}":            w.call(w.download),
	}
}

// linksPath is where Options.Links is served.
const linksPath = "/links/"

// withLinks serves links before the page's guard: a member needs only the link's address,
// under any name that a proxy serves it by.
func (w *Web) withLinks(page http.Handler) http.Handler {
	if w.opts.Links == nil {
		return page
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, linksPath) {
			w.opts.Links.ServeHTTP(rw, r)
			return
		}
		page.ServeHTTP(rw, r)
	})
}
