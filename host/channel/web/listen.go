package web

import (
	"net"
	"net/http"

	"github.com/longshore-bridge/longshore/host/channel/httpd"
)

// address is where the page is served.
func (o Options) address() httpd.Address {
	return httpd.Address{Listen: o.Listen, Listener: o.Listener, Token: o.Token, Hosts: o.Hosts}
}

// Addr is the address that Open listens on.
func (w *Web) Addr() net.Addr { return w.listener.Addr() }

// URL is the address of the index page once the channel is open, without the token. If the
// page listens on all interfaces, URL names loopback.
func (w *Web) URL() string {
	if !w.opened.Load() {
		return ""
	}
	return httpd.URL(w.listener.Addr())
}

// Handler serves everything that Run serves, behind its guards.
func (w *Web) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", w.index)
	mux.HandleFunc("GET /c/{chat}", w.page)
	mux.HandleFunc("GET /assets/{name}", serveAsset)
	mux.HandleFunc("GET /login", w.loginPage)
	mux.HandleFunc("POST /login", w.login)
	mux.HandleFunc("POST /logout", w.logout)
	mux.HandleFunc("GET /api/chats", w.listChats)
	mux.HandleFunc("POST /api/mark", w.mark)
	mux.HandleFunc("POST /api/push", w.subscribe)
	mux.HandleFunc("DELETE /api/push", w.subscribe)
	mux.HandleFunc("GET /api/chats/{chat}/messages", w.listMessages)
	mux.HandleFunc("POST /api/chats/{chat}/messages", w.post)
	mux.HandleFunc("POST /api/chats/{chat}/seen", w.seen)
	mux.HandleFunc("POST /api/chats/{chat}/acts", w.act)
	mux.HandleFunc("GET /api/chats/{chat}/events", w.events)
	mux.HandleFunc("GET /api/chats/{chat}/tasks", w.listTasks)
	mux.HandleFunc("POST /api/chats/{chat}/tasks/{id}", w.operateTask)
	mux.HandleFunc("GET /files/{id}/{name}", w.download)
	return w.opts.Proxies.Wrap(w.withLinks(w.guard.wrap(mux)))
}
