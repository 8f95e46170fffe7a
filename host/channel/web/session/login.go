package session

import (
	"context"
	"net/http"
	"strings"

	"github.com/longshore-bridge/longshore/host/channel/web/assets"
	"github.com/longshore-bridge/longshore/host/httpd"
)

const (
	// keyHeader carries the key that a page keeps in its localStorage, which
	// other ports of the same host name do not see.
	keyHeader = "X-Longshore-Key"

	// secureCookie is the cookie's name over https. Browsers accept a name with this
	// prefix only from this host itself.
	secureCookie = "__Host-longshore"
)

type contextKey struct{}

// Of returns the session that admits a request; nil if the request shows the token
// itself, or if no token is needed.
func Of(ctx context.Context) *Session {
	s, _ := ctx.Value(contextKey{}).(*Session)
	return s
}

// Sender returns the sender by whom a request counts: its session, or its address if it
// shows the token itself. Without a token it is nil: then all requests come from this
// machine.
func (g *Guard) Sender(r *http.Request) any {
	if s := Of(r.Context()); s != nil {
		return s
	}
	if g.token == "" {
		return nil
	}
	return httpd.Sender(r)
}

// Use marks a session as used, and reports whether it has not ended.
func (g *Guard) Use(ctx context.Context, s *Session) bool { return g.sessions.use(ctx, s) }

// Lives reports whether the session with an ID has not ended. No session, nil, lives while no token
// is needed.
func (g *Guard) Lives(id []byte) bool {
	if id == nil {
		return g.token == ""
	}
	return g.sessions.lives(id)
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
func (g *Guard) admitted(r *http.Request) (*http.Request, bool) {
	if bearer := httpd.Bearer(r); bearer != "" {
		return r, httpd.Same(bearer, g.token)
	}
	key := r.Header.Get(keyHeader)
	s := g.sessionBy(r, func(s *Session) bool { return isPage(r) || s.opens(key) })
	if s == nil {
		return r, false
	}
	return r.WithContext(context.WithValue(r.Context(), contextKey{}, s)), true
}

// sessionBy returns the session of one of the request's cookies, or nil. There can be
// several cookies of that name: another port of the host name may set its own.
func (g *Guard) sessionBy(r *http.Request, may func(*Session) bool) *Session {
	for _, c := range r.CookiesNamed(g.cookieName(r)) {
		if s := g.sessions.find(r.Context(), c.Value); s != nil && may(s) {
			return s
		}
	}
	return nil
}

func (g *Guard) cookieName(r *http.Request) string {
	if isSecure(r) {
		return secureCookie
	}
	return g.cookie
}

// isSecure reports whether the browser uses https, normally to a proxy of ours.
func isSecure(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

func (g *Guard) setCookie(rw http.ResponseWriter, r *http.Request, value string, maxAge int) {
	http.SetCookie(rw, &http.Cookie{
		Name: g.cookieName(r), Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: isSecure(r),
	})
}

// Refuse answers a person with the login form, and a program with what is missing.
func (g *Guard) Refuse(rw http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") {
		assets.Render(rw, http.StatusUnauthorized, "login", nil)
		return
	}
	httpd.Fail(rw, httpd.Refuse(http.StatusUnauthorized, "unauthorized", "the token is missing or wrong, or the session has ended", "sign in again; a program sends Authorization: Bearer TOKEN"))
}

// LoginPage shows the form for the token.
func (g *Guard) LoginPage(rw http.ResponseWriter, r *http.Request) {
	if g.token == "" {
		http.Redirect(rw, r, "/", http.StatusSeeOther)
		return
	}
	assets.Render(rw, http.StatusOK, "login", nil)
}

// Login begins a session for a browser that shows the token. The browser gets the cookie,
// and its page the key.
func (g *Guard) Login(rw http.ResponseWriter, r *http.Request) error {
	if g.token == "" || !httpd.Same(r.PostFormValue("token"), g.token) {
		return httpd.Refuse(http.StatusUnauthorized, "unauthorized", "that token is not the right one", "ask the host's operator for it")
	}
	if err := g.endSession(r); err != nil {
		return err
	}
	cookie, key, err := g.sessions.begin(r.Context())
	if err != nil {
		return err
	}
	g.setCookie(rw, r, cookie, int(longest.Seconds()))
	httpd.Answer(rw, http.StatusOK, map[string]string{"key": key})
	return nil
}

// Logout ends the browser's session. It needs only the cookie, because it only takes
// access away.
func (g *Guard) Logout(rw http.ResponseWriter, r *http.Request) error {
	if err := g.endSession(r); err != nil {
		return err
	}
	g.setCookie(rw, r, "", -1)
	http.Redirect(rw, r, "/login", http.StatusSeeOther)
	return nil
}

// endSession ends the session of a request's cookie, if there is one.
func (g *Guard) endSession(r *http.Request) error {
	if s := g.sessionBy(r, func(*Session) bool { return true }); s != nil {
		return g.sessions.end(r.Context(), s)
	}
	return nil
}
