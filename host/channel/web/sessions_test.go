package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// behindToken is a site that has a token. The options are those of the same
// site after a restart, at the same port.
func behindToken(t testing.TB) (*site, setup) {
	o := withToken(t)
	s := start(t, o)
	o.Listen = s.Addr().String()
	return s, o
}

func withToken(t testing.TB) setup {
	o := options(t.TempDir())
	o.Token = token
	return o
}

// signIn shows the token as a browser does and returns the cookie and the key.
func (s *site) signIn(header ...string) (cookie *http.Cookie, key string) {
	s.t.Helper()
	form := url.Values{"token": {token}}.Encode()
	res, b := s.do("POST", "/login", strings.NewReader(form), append(header, "Content-Type", "application/x-www-form-urlencoded")...)
	var out struct{ Key string }
	if err := json.Unmarshal(b, &out); err != nil || res.StatusCode != 200 || len(res.Cookies()) != 1 || len(out.Key) < 22 {
		s.t.Fatalf("signing in: %d %s, cookies %v", res.StatusCode, b, res.Cookies())
	}
	return res.Cookies()[0], out.Key
}

func pair(c *http.Cookie) string { return c.Name + "=" + c.Value }

// status is what a request with the cookie and the key, if any, is answered.
// The body is not read: a stream has no end.
func (s *site) status(method, path string, c *http.Cookie, key string) int {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.at(path), strings.NewReader(`{"text":"x"}`))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Cookie", pair(c))
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("X-Longshore-Key", key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

const chatAPI = "/api/chats/family/messages"

// Every service on the same host name gets the cookie.
func TestAStolenCookieReadsAndWritesNothing(t *testing.T) {
	s, _ := behindToken(t)
	c, key := s.signIn()
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure || strings.Contains(c.Value, token) || strings.Contains(c.Value, key) || c.Path != "/" || c.Domain != "" {
		t.Errorf("the cookie is %v", c)
	}
	for _, r := range [][2]string{{"GET", "/api/chats"}, {"GET", chatAPI}, {"POST", chatAPI}, {"POST", "/api/chats/family/seen"}, {"GET", "/api/chats/family/events"}} {
		for name, shown := range map[string]string{"no key": "", "the cookie as the key": c.Value, "the token as the key": token, "a wrong key": key[1:] + "A"} {
			if got := s.status(r[0], r[1], c, shown); got != 401 {
				t.Errorf("%s %s with %s: %d", r[0], r[1], name, got)
			}
		}
	}
	if got := s.status("GET", chatAPI, c, key); got != 200 {
		t.Errorf("with both: %d", got)
	}
	if got := s.status("POST", chatAPI, c, key); got != 201 {
		t.Errorf("with both: %d", got)
	}
	other, otherKey := s.signIn()
	if got := s.status("GET", chatAPI, c, otherKey); got != 401 {
		t.Errorf("with another session's key: %d", got)
	}
	if got := s.status("GET", chatAPI, other, otherKey); got != 200 {
		t.Errorf("the other session: %d", got)
	}
	// A page that the browser asks for by itself holds no message.
	res, b := s.do("GET", "/c/family", nil, "Cookie", pair(c))
	if res.StatusCode != 200 || strings.Contains(string(b), ">x<") {
		t.Errorf("the page: %d %s", res.StatusCode, b)
	}
}

// Another port of the host name can set a cookie of the same name, which the
// browser sends first. With a valid one of an attacker's the member was refused.
func TestACookieOfAnotherPortKeepsNoMemberOut(t *testing.T) {
	s, _ := behindToken(t)
	planted, _ := s.signIn()
	c, key := s.signIn()
	for _, cookies := range []string{pair(planted) + "; " + pair(c), pair(c) + "; " + pair(planted)} {
		if res, b := s.do("GET", chatAPI, nil, "Cookie", cookies, "X-Longshore-Key", key); res.StatusCode != 200 {
			t.Errorf("%s: %d %s", cookies, res.StatusCode, b)
		}
	}
}

// 1,000 sessions are begun in seconds, and ended those of all other members.
func TestWhoSignsInWithoutEndSignsNobodyElseOut(t *testing.T) {
	s, _ := behindToken(t)
	c, key := s.signIn()
	for range 1000 {
		s.signIn()
	}
	last, lastKey := s.signIn()
	if got := s.status("GET", chatAPI, c, key); got != 200 {
		t.Errorf("who was there before is answered %d", got)
	}
	if got := s.status("GET", chatAPI, last, lastKey); got != 200 {
		t.Errorf("who signed in last is answered %d", got)
	}
}

func TestCookiesOfTLSAreTheHostsOwn(t *testing.T) {
	s, _ := behindToken(t)
	c, key := s.signIn("X-Forwarded-Proto", "https")
	if !c.Secure || !strings.HasPrefix(c.Name, "__Host-") || c.Path != "/" || c.Domain != "" {
		t.Errorf("the cookie is %v", c)
	}
	for _, h := range []struct {
		cookie string
		status int
	}{{pair(c), 200}, {strings.TrimPrefix(pair(c), "__Host-"), 401}} {
		res, _ := s.do("GET", chatAPI, nil, "Cookie", h.cookie, "X-Longshore-Key", key, "X-Forwarded-Proto", "https")
		if res.StatusCode != h.status {
			t.Errorf("%s: %d", h.cookie, res.StatusCode)
		}
	}
}

func TestASessionEndsWhenItsBrowserSignsOut(t *testing.T) {
	s, o := behindToken(t)
	c, key := s.signIn()
	other, otherKey := s.signIn()
	live := s.listen("", "Cookie", pair(c), "X-Longshore-Key", key)
	live.activity(func(bool, int) bool { return true })
	res, _ := s.do("POST", "/logout", nil, "Cookie", pair(c))
	if res.StatusCode != 303 || res.Header.Get("Location") != "/login" || len(res.Cookies()) != 1 || res.Cookies()[0].MaxAge != -1 {
		t.Errorf("signing out: %d %v", res.StatusCode, res.Header)
	}
	for live.in.Scan() { // the page hears nothing more
	}
	if got := s.status("GET", chatAPI, c, key); got != 401 {
		t.Errorf("after signing out: %d", got)
	}
	s.stop()
	s = start(t, o)
	if got := s.status("GET", chatAPI, c, key); got != 401 {
		t.Errorf("after signing out and a restart: %d", got)
	}
	if got := s.status("GET", chatAPI, other, otherKey); got != 200 {
		t.Errorf("another browser after a restart: %d", got)
	}
}

func TestASessionEndsByTimeAndByAnotherToken(t *testing.T) {
	for name, c := range map[string]struct {
		alter  string
		token  string
		status int
	}{
		"a restart":     {"SELECT 1", token, 200},
		"29 days later": {"UPDATE page_session SET used = used - 29 * CAST(86400000 AS BIGINT), made = made - 29 * CAST(86400000 AS BIGINT)", token, 200},
		"unused":        {"UPDATE page_session SET used = used - 30 * CAST(86400000 AS BIGINT), made = made - 30 * CAST(86400000 AS BIGINT)", token, 401},
		"old":           {"UPDATE page_session SET made = made - 90 * CAST(86400000 AS BIGINT)", token, 401},
		"another token": {"SELECT 1", "another-battery-staple", 401},
	} {
		t.Run(name, func(t *testing.T) {
			s, o := behindToken(t)
			cookie, key := s.signIn()
			s.stop()
			alter(t, o.Dir, c.alter)
			o.Token = c.token
			s = start(t, o)
			if got := s.status("GET", chatAPI, cookie, key); got != c.status {
				t.Errorf("answered %d, want %d", got, c.status)
			}
			if o.Token = token; c.token != token {
				s.stop()
				s = start(t, o)
				if got := s.status("GET", chatAPI, cookie, key); got != 401 {
					t.Errorf("with the first token again: %d", got)
				}
			}
		})
	}
}

// Before its script ran, the form went out by itself, and the member saw the
// answer's JSON with the session's key instead of the chat.
func TestTheSignInFormWaitsForItsScript(t *testing.T) {
	s, _ := behindToken(t)
	if _, page := s.do("GET", "/login", nil); !strings.Contains(string(page), `type="submit" id="open" disabled>`) {
		t.Errorf("the form can be sent without its script: %s", page)
	}
}
