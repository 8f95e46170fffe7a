package web

import (
	"context"
	"net/http"
	"strings"

	"github.com/longshore-bridge/longshore/host/channel/httpd"
)

const (
	// keyHeader carries the key that a page keeps in its localStorage, which
	// other ports of the same host name do not see.
	keyHeader = "X-Longshore-Key"

	// secureCookie is the cookie's name over https. Browsers accept a name with this
	// prefix only from this host itself.
	secureCookie = "__Host-longshore"
)

type sessionKey struct{}

// sessionOf returns the session that admits a request; nil if the request shows the token
// itself, or if no token is needed.
func sessionOf(ctx context.Context) *session {
	s, _ := ctx.Value(sessionKey{}).(*session)
	return s
}

// senderOf returns the sender by whom a request counts: its session, or its address if it
// shows the token itself. Without a token it is nil: then all requests come from this
// machine.
func (w *Web) senderOf(r *http.Request) any {
	if s := sessionOf(r.Context()); s != nil {
		return s
	}
	if w.guard.token == "" {
		return nil
	}
	return httpd.Sender(r)
}

// isPage reports whether a browser requests a path without the page's script, and so
// without the key: a page, which has the names of chats but no message, or a file, whose id
// cannot be guessed.
func isPage(r *http.Request) bool {
	path := r.URL.Path
	return r.Method == http.MethodGet && (path == "/" || strings.HasPrefix(path, "/c/") || strings.HasPrefix(path, "/files/"))
}

// admitted returns the request for the handlers if it may pass: it shows the token, or a
// session's cookie and, unless it asks for a page, the session's key.
func (g *guard) admitted(r *http.Request) (*http.Request, bool) {
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return r, same(bearer, g.token)
	}
	key := r.Header.Get(keyHeader)
	s := g.sessionBy(r, func(s *session) bool { return isPage(r) || s.opens(key) })
	if s == nil {
		return r, false
	}
	return r.WithContext(context.WithValue(r.Context(), sessionKey{}, s)), true
}

// sessionBy returns the session of one of the request's cookies, or nil. There can be
// several cookies of that name: another port of the host name may set its own.
func (g *guard) sessionBy(r *http.Request, may func(*session) bool) *session {
	for _, c := range r.CookiesNamed(g.cookieName(r)) {
		if s := g.sessions.find(r.Context(), c.Value); s != nil && may(s) {
			return s
		}
	}
	return nil
}

func anySession(*session) bool { return true }

func (g *guard) cookieName(r *http.Request) string {
	if isSecure(r) {
		return secureCookie
	}
	return g.cookie
}

// isSecure reports whether the browser uses https, normally to a proxy of ours.
func isSecure(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

func (g *guard) setCookie(rw http.ResponseWriter, r *http.Request, value string, maxAge int) {
	http.SetCookie(rw, &http.Cookie{
		Name: g.cookieName(r), Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: isSecure(r),
	})
}

// refuse answers a person with the login form, and a program with what is missing.
func (g *guard) refuse(rw http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") {
		render(rw, http.StatusUnauthorized, "login", nil)
		return
	}
	rw.Header().Set("WWW-Authenticate", `Bearer realm="longshore"`)
	httpd.Fail(rw, httpd.Refuse(http.StatusUnauthorized, "unauthorized", "the token is missing or wrong, or the session has ended", "sign in again; a program sends Authorization: Bearer TOKEN"))
}

func (w *Web) loginPage(rw http.ResponseWriter, r *http.Request) {
	if w.guard.token == "" {
		http.Redirect(rw, r, "/", http.StatusSeeOther)
		return
	}
	render(rw, http.StatusOK, "login", nil)
}

// login begins a session for a browser that shows the token. The browser gets the cookie,
// and its page the key.
func (w *Web) login(rw http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(rw, r.Body, 4<<10)
	if w.guard.token == "" || !same(r.PostFormValue("token"), w.guard.token) {
		httpd.Fail(rw, httpd.Refuse(http.StatusUnauthorized, "unauthorized", "that token is not the right one", "ask the host's operator for it"))
		return
	}
	if old := w.guard.sessionBy(r, anySession); old != nil {
		if err := w.guard.sessions.end(r.Context(), old); err != nil {
			w.internal(rw, r, err)
			return
		}
	}
	cookie, key, err := w.guard.sessions.begin(r.Context())
	if err != nil {
		w.internal(rw, r, err)
		return
	}
	w.guard.setCookie(rw, r, cookie, int(sessionAge.Seconds()))
	httpd.Answer(rw, http.StatusOK, map[string]string{"key": key})
}

// logout ends the browser's session. It needs only the cookie, because it only takes
// access away.
func (w *Web) logout(rw http.ResponseWriter, r *http.Request) {
	if s := w.guard.sessionBy(r, anySession); s != nil {
		if err := w.guard.sessions.end(r.Context(), s); err != nil {
			w.internal(rw, r, err)
			return
		}
	}
	w.guard.setCookie(rw, r, "", -1)
	http.Redirect(rw, r, "/login", http.StatusSeeOther)
}
