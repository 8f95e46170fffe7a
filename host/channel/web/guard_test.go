package web_test

import (
	"io"
	"net"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/media"
)

const token = "correct-horse-battery"

func TestOnlyLoopbackWithoutAToken(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*web.Options)
		want   string // part of the error; empty: no error
	}{
		"loopback":            {func(*web.Options) {}, ""},
		"localhost":           {func(o *web.Options) { o.Listen = "localhost:0" }, ""},
		"every interface":     {func(o *web.Options) { o.Listen = "0.0.0.0:0" }, "token"},
		"no host":             {func(o *web.Options) { o.Listen = ":0" }, "token"},
		"another address":     {func(o *web.Options) { o.Listen = "192.0.2.7:0" }, "token"},
		"a name":              {func(o *web.Options) { o.Listen = "chat.example:0" }, "token"},
		"every one, token":    {func(o *web.Options) { o.Listen, o.Token = "0.0.0.0:0", token }, ""},
		"short token":         {func(o *web.Options) { o.Token = "secret" }, "16"},
		"names without token": {func(o *web.Options) { o.Hosts = []string{"chat.example"} }, "token"},
		"no port":             {func(o *web.Options) { o.Listen = "127.0.0.1" }, "host:port"},
		"odd chat":            {func(o *web.Options) { o.Chats[0].JID = "web:../x" }, "web:family"},
		"chat twice":          {func(o *web.Options) { o.Chats[0].JID = o.Chats[1].JID }, "twice"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t.TempDir())
			c.change(&o.Options)
			w, err := opened(o.opens(t))
			if err == nil {
				defer w.Close()
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestAListenerThatOthersReachNeedsAToken(t *testing.T) {
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o := options(t.TempDir())
	o.Listener = l
	if w, err := opened(o.opens(t)); err == nil {
		w.Close()
		t.Error("it was taken")
	}
}

func TestOtherSitesAreRefused(t *testing.T) {
	s := start(t, options(t.TempDir()))
	_, port, _ := net.SplitHostPort(s.Addr().String())
	const messages = "/api/chats/family/messages"
	file := s.fileURL()
	for name, c := range map[string]struct {
		method, path string
		header       []string
		status       int
	}{
		"a script without a browser":     {"GET", messages, nil, 200},
		"the page itself":                {"GET", messages, []string{"Sec-Fetch-Site", "same-origin"}, 200},
		"typed into the address bar":     {"GET", file, []string{"Sec-Fetch-Site", "none"}, 200},
		"another site reads":             {"GET", messages, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"another port reads":             {"GET", messages, []string{"Sec-Fetch-Site", "same-site"}, 403},
		"another site embeds a file":     {"GET", file, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "image"}, 403},
		"another site listens":           {"GET", "/api/chats/family/events", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"another site frames the page":   {"GET", "/c/family", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 403},
		"a link elsewhere":               {"GET", "/c/family", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 200},
		"another site posts":             {"POST", messages, []string{"Sec-Fetch-Site", "cross-site", "Content-Type", "application/json"}, 403},
		"another origin posts":           {"POST", messages, []string{"Origin", "http://evil.example", "Content-Type", "application/json"}, 403},
		"another port posts":             {"POST", messages, []string{"Origin", "http://localhost:1", "Content-Type", "application/json"}, 403},
		"a sandboxed page posts":         {"POST", messages, []string{"Origin", "null", "Content-Type", "application/json"}, 403},
		"the page posts":                 {"POST", messages, []string{"Origin", "http://" + s.Addr().String(), "Content-Type", "application/json"}, 201},
		"by name":                        {"GET", messages, []string{"Host", "localhost:" + port}, 200},
		"by IPv6":                        {"GET", messages, []string{"Host", "[::1]:" + port}, 200},
		"a rebound name":                 {"GET", messages, []string{"Host", "evil.example:" + port}, 421},
		"a rebound name posts":           {"POST", messages, []string{"Host", "evil.example", "Content-Type", "application/json"}, 421},
		"a name that looks like ours":    {"GET", messages, []string{"Host", "localhost.evil.example"}, 421},
		"an address that looks like one": {"GET", messages, []string{"Host", "127.0.0.1.evil.example"}, 421},
		"another address":                {"GET", messages, []string{"Host", "192.0.2.1:" + port}, 421},
	} {
		t.Run(name, func(t *testing.T) {
			var body string
			if c.method == "POST" {
				body = `{"text":"x"}`
			}
			res, b := s.do(c.method, c.path, strings.NewReader(body), c.header...)
			if res.StatusCode != c.status {
				t.Errorf("got %d %s, want %d", res.StatusCode, b, c.status)
			}
			if res.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Error("other sites are let in")
			}
		})
	}
	s.in.wait(t, func() bool { return len(s.in.kept) > 0 })
	if n := len(s.in.received()); n != 1 {
		t.Errorf("the host got %d messages, want 1", n)
	}
}

// fileURL is the address of a file in the chat.
func (s *site) fileURL() string {
	s.t.Helper()
	id := s.send(channel.Message{Files: outgoing("a.txt", "text/plain", media.Document, []byte("abc"))}).ID
	for _, m := range s.history("") {
		if m.ID == id {
			return m.File.URL
		}
	}
	s.t.Fatal("the file is not there")
	return ""
}

func TestTheTokenOpensThePage(t *testing.T) {
	o := options(t.TempDir())
	o.Listen, o.Token = "0.0.0.0:0", token
	o.Hosts = []string{"Chat.example:8443"}
	s := start(t, o)
	html := []string{"Accept", "text/html"}

	for _, path := range []string{"/", "/c/family", "/api/chats", "/api/chats/family/messages", "/api/chats/family/events", "/files/x/y"} {
		if res, b := s.do("GET", path, nil); res.StatusCode != 401 || strings.Contains(string(b), "family") {
			t.Errorf("%s without the token: %d %s", path, res.StatusCode, b)
		}
	}
	for _, bad := range []string{"wrong", "", token + "x", token[:len(token)-1]} {
		res, _ := s.do("POST", "/login", strings.NewReader(url.Values{"token": {bad}}.Encode()), "Content-Type", "application/x-www-form-urlencoded")
		if res.StatusCode != 401 || len(res.Cookies()) != 0 {
			t.Errorf("token %q: %d, cookies %v", bad, res.StatusCode, res.Cookies())
		}
		if res, _ := s.do("GET", "/api/chats", nil, "Authorization", "Bearer "+bad); res.StatusCode != 401 {
			t.Errorf("bearer %q: %d", bad, res.StatusCode)
		}
	}
	// The link shows the form, whose script takes the token out of the address.
	for _, query := range []string{"", "?token=" + token, "?token=wrong"} {
		if res, b := s.do("GET", "/c/family"+query, nil, html...); res.StatusCode != 401 || !strings.Contains(string(b), `name="token"`) || len(res.Cookies()) != 0 {
			t.Errorf("a person gets %d %s for %q", res.StatusCode, b, query)
		}
	}
	for _, path := range []string{"/c/family", "/api/chats"} {
		if res, _ := s.do("GET", path, nil, "Authorization", "Bearer "+token); res.StatusCode != 200 {
			t.Errorf("%s with the token: %d", path, res.StatusCode)
		}
	}
	// Listening on every interface, a literal address is ours; a name is not.
	if res, _ := s.do("GET", "/api/chats", nil, "Host", "192.0.2.1:8420", "Authorization", "Bearer "+token); res.StatusCode != 200 {
		t.Errorf("by address: %d", res.StatusCode)
	}
	if res, _ := s.do("GET", "/api/chats", nil, "Host", "evil.example", "Authorization", "Bearer "+token); res.StatusCode != 421 {
		t.Errorf("by a foreign name: %d", res.StatusCode)
	}
}

func TestPagesLetNothingForeignRun(t *testing.T) {
	o := options(t.TempDir())
	o.Chats[0].Name = `<script>alert(1)</script>"'`
	s := start(t, o)
	for _, path := range []string{"/", "/c/family", "/c/none", "/assets/main.js", "/api/chats", "/none"} {
		res, b := s.do("GET", path, nil)
		csp := res.Header.Get("Content-Security-Policy")
		if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") || res.Header.Get("X-Content-Type-Options") != "nosniff" ||
			res.Header.Get("X-Frame-Options") != "DENY" || res.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %v", path, res.Header)
		}
		if strings.Contains(string(b), "<script>alert") {
			t.Errorf("%s holds the script: %s", path, b)
		}
	}
}

func TestAssetsAreAskedForOnce(t *testing.T) {
	s := start(t, options(t.TempDir()))
	res, _ := s.do("GET", "/assets/chat.css", nil)
	if tag := res.Header.Get("ETag"); tag == "" {
		t.Error("no ETag")
	} else if res, _ := s.do("GET", "/assets/chat.css", nil, "If-None-Match", tag); res.StatusCode != 304 {
		t.Errorf("again: %d", res.StatusCode)
	}
	for _, name := range []string{"chat.html", "../web.go", "%2e%2e%2fweb.go", ""} {
		if res, _ := s.do("GET", "/assets/"+name, nil); res.StatusCode != 404 && res.StatusCode != 307 && res.StatusCode != 301 {
			t.Errorf("%q: %d", name, res.StatusCode)
		}
	}
}

// A client that never ends its header is let go.
func TestAHeaderThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, l := serve(t, options(t.TempDir()))
		c := l.dial(t)
		if _, err := c.Write([]byte("GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")); err != nil {
			t.Fatal(err)
		}
		if err := c.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, c); err != nil {
			t.Errorf("the connection is still open: %v", err)
		}
	})
}

func TestTheHandlerStandsAlone(t *testing.T) {
	w, err := opened(options(t.TempDir()).opens(t))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	rec := httptest.NewRecorder()
	req := httptest.NewRequest("POST", "/api/chats/family/messages", strings.NewReader(`{"text":"x"}`))
	req.Host = "localhost"
	req.Header.Set("Content-Type", "application/json")
	w.Handler().ServeHTTP(rec, req)
	if rec.Code != 201 {
		t.Errorf("before Run a post is answered %d %s", rec.Code, rec.Body)
	}
}
