package links

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

const someID = "0123456789abcdef0123456789abcdef"

func tokenOf(t testing.TB, k *Keys, until time.Time) string {
	t.Helper()
	token, err := k.Token(someID, until)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// TestOnlyTheHostMakesTokens changes each digit of one.
func TestOnlyTheHostMakesTokens(t *testing.T) {
	db := statetest.Open(t, t.TempDir())
	until := time.Unix(1_800_000_000, 0)
	token := tokenOf(t, NewKeys(db), until)
	again := NewKeys(db) // after a restart
	if id, at, ok := again.Parse(token); !ok || id != someID || !at.Equal(until) {
		t.Fatal(id, at, ok)
	}
	for i := range token {
		for _, c := range "0f" {
			if forged := token[:i] + string(c) + token[i+1:]; forged != token {
				if _, _, ok := again.Parse(forged); ok {
					t.Errorf("%s passes for %s", forged, token)
				}
			}
		}
	}
	if _, _, ok := NewKeys(statetest.Open(t, t.TempDir())).Parse(token); ok {
		t.Error("another host takes it")
	}
}

// FuzzParse: a token that is taken is the one that the host made.
func FuzzParse(f *testing.F) {
	k := NewKeys(statetest.Open(f, f.TempDir()))
	real := tokenOf(f, k, time.Unix(1_800_000_000, 0))
	for _, seed := range []string{real, "", "/", strings.ToUpper(real), real + "0", real[1:], someID, "..", "%00", strings.Repeat("0", tokenLen)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		if _, _, ok := k.Parse(token); ok != (token == real) {
			t.Errorf("%q: %v", token, ok)
		}
	})
}

type content struct{ *strings.Reader }

func (content) Close() error { return nil }

func newServer(t *testing.T, name string) *Server {
	return &Server{Keys: NewKeys(statetest.Open(t, t.TempDir())), Log: slog.New(slog.DiscardHandler), Files: filesFunc(func(_ context.Context, id string) (File, error) {
		if id != someID {
			return File{}, ErrNone
		}
		return File{Name: name, Size: 5, SHA256: "aa", Content: content{strings.NewReader("hello")}}, nil
	})}
}

type filesFunc func(ctx context.Context, id string) (File, error)

func (f filesFunc) OpenLink(ctx context.Context, id string) (File, error) { return f(ctx, id) }

func ask(s http.Handler, method, path, from, forwarded string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.RemoteAddr = from
	if forwarded != "" {
		r.Header.Set("X-Forwarded-For", forwarded)
	}
	rw := httptest.NewRecorder()
	s.ServeHTTP(rw, r)
	return rw
}

// TestALinkExpires at its second, without anybody having swept.
func TestALinkExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, "a.txt")
		path := Path + tokenOf(t, s.Keys, time.Now().Add(time.Hour))
		time.Sleep(time.Hour - time.Second)
		if got := ask(s, "GET", path, "1.2.3.4:1", ""); got.Code != http.StatusOK || got.Body.String() != "hello" {
			t.Error(got.Code, got.Body)
		}
		time.Sleep(time.Second)
		expired, unknown := ask(s, "GET", path, "1.2.3.4:1", ""), ask(s, "GET", Path+"x", "1.2.3.4:1", "")
		if expired.Code != http.StatusNotFound || expired.Body.String() != unknown.Body.String() || len(expired.Header()) != len(unknown.Header()) {
			t.Error(expired.Code, expired.Body, unknown.Body)
		}
		if got := ask(s, "POST", path, "1.2.3.4:1", ""); got.Code != http.StatusMethodNotAllowed {
			t.Error(got.Code)
		}
	})
}

// TestANameWritesNoHeader: it is foreign text.
func TestANameWritesNoHeader(t *testing.T) {
	for _, name := range []string{"a\r\nSet-Cookie: x=y", "\"; filename=evil.html", "é\u202etxt.exe", "\x00", strings.Repeat("é", 5000), ""} {
		s := newServer(t, name)
		got := ask(s, "GET", Path+tokenOf(t, s.Keys, time.Now().Add(time.Hour)), "1.2.3.4:1", "")
		text := got.Header().Get("Content-Disposition")
		if got.Code != http.StatusOK || !strings.HasPrefix(text, "attachment") || strings.ContainsAny(text, "\r\n\x00") || strings.Count(text, "filename") > 1 && !strings.Contains(name, "filename") {
			t.Errorf("%q: %d %q", name, got.Code, text)
		}
		for _, c := range text {
			if c > 126 {
				t.Errorf("%q: %q", name, text)
				break
			}
		}
	}
}

// TestNobodyFetchesForAll: one address gets its share, a proxy's senders one each, and all
// together no more than the host gives.
func TestNobodyFetchesForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, "a.txt")
		path := Path + tokenOf(t, s.Keys, time.Now().Add(time.Hour))
		proxies, err := httpd.ParseProxies([]string{"127.0.0.1", "10.0.0.0/8"})
		if err != nil {
			t.Fatal(err)
		}
		behind := proxies.Wrap(s)
		for i := range ofSender.minute + 1 {
			got := ask(behind, "GET", path, "127.0.0.1:9", "9.9.9.9, 1.2.3.4, 10.0.0.7")
			if want := map[bool]int{true: 200, false: 429}[i < ofSender.minute]; got.Code != want {
				t.Fatal(i, got.Code)
			}
		}
		if got := ask(behind, "GET", path, "127.0.0.1:9", "1.2.3.4, 5.6.7.8"); got.Code != 200 {
			t.Error("another sender behind the proxy:", got.Code)
		}
		if got := ask(behind, "GET", path, "1.2.3.4:9", "5.6.7.8"); got.Code != 429 {
			t.Error("a sender of itself says who it is:", got.Code)
		}
		time.Sleep(time.Minute)
		for i := range ofAll.minute {
			if got := ask(s, "GET", path, "[2001:db8:"+string("0123456789abcdef"[i%16])+"::1]:9", ""); got.Code != 200 && got.Code != 429 {
				t.Fatal(got.Code)
			}
		}
		if s.gate.counts[all{}] > ofAll.minute || len(s.gate.inside) != 0 {
			t.Errorf("%d in a minute, %v still inside", s.gate.counts[all{}], s.gate.inside)
		}
	})
}

// An assistant in a container, or a member of the local network, said of each request that
// it came from another address, and none had a share.
func TestWhoIsNoProxyIsNotBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, "a.txt")
		path := Path + tokenOf(t, s.Keys, time.Now().Add(time.Hour))
		proxies, _ := httpd.ParseProxies([]string{"127.0.0.1"})
		for i := range ofSender.minute + 1 {
			got := ask(proxies.Wrap(s), "GET", path, "172.17.0.2:9", fmt.Sprintf("1.2.%d.%d", i/250, i%250))
			if want := map[bool]int{true: 200, false: 429}[i < ofSender.minute]; got.Code != want {
				t.Fatal(i, got.Code)
			}
		}
	})
}

// Made-up links from ten IPv6 networks used up what all may fetch in a minute.
func TestForgedLinksKeepNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, "a.txt")
		token := tokenOf(t, s.Keys, time.Now().Add(time.Hour))
		forged := []string{token[1:] + "0", "x", tokenOf(t, NewKeys(statetest.Open(t, t.TempDir())), time.Now().Add(time.Hour)), tokenOf(t, s.Keys, time.Now())}
		for i := range 2 * ofAll.minute {
			if got := ask(s, "GET", Path+forged[i%len(forged)], fmt.Sprintf("[2001:db8:0:%x::1]:9", i%16), ""); got.Code != 404 {
				t.Fatal(got.Code)
			}
		}
		if got := ask(s, "GET", Path+token, "[2001:db8:0:1::1]:9", ""); got.Code != 200 {
			t.Error("a member's link:", got.Code)
		}
	})
}

// A member with a network of its own had as many shares as networks of 64 bits in it.
func TestOneSiteAndOneLinkDoNotTakeAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, "a.txt")
		link := func(n int) string {
			token, err := s.Keys.Token(fmt.Sprintf("%032x", n), time.Now().Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			return Path + token
		}
		s.Files = filesFunc(func(context.Context, string) (File, error) {
			return File{Name: "a.txt", Size: 5, Content: content{strings.NewReader("hello")}}, nil
		})
		fetched := func(from func(n int) string, link func(n int) string) (n int) {
			for i := range ofAll.minute {
				if ask(s, "GET", link(i), from(i), "").Code == 200 {
					n++
				}
			}
			time.Sleep(time.Minute)
			return n
		}
		site := func(n int) string { return fmt.Sprintf("[2001:db8:0:%x::1]:9", n) }
		if n := fetched(site, link); n != ofNetwork.minute {
			t.Errorf("one site fetches %d of %d", n, ofAll.minute)
		}
		everywhere := func(n int) string { return fmt.Sprintf("[2001:db8:%x::1]:9", n) }
		if n := fetched(everywhere, func(int) string { return link(1) }); n != ofLink.minute {
			t.Errorf("one link is fetched %d of %d times", n, ofAll.minute)
		}
		if n := fetched(everywhere, link); n != ofAll.minute {
			t.Errorf("all fetch %d of %d", n, ofAll.minute)
		}
	})
}

var _ io.ReadSeekCloser = content{}
