package web_test

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/channel/web/webpush"
)

// pushed is a request to the push service.
type pushed struct {
	path, token, key string
	header           http.Header
	body             []byte
}

// pushService is a push service of a browser's maker, on loopback.
type pushService struct {
	*httptest.Server
	got    chan pushed
	answer chan http.HandlerFunc // one for the next request; 201 if none
}

func newPushService(t testing.TB) *pushService {
	s := &pushService{got: make(chan pushed, 100), answer: make(chan http.HandlerFunc, 10)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		p := pushed{path: r.URL.Path, header: r.Header}
		p.body, _ = io.ReadAll(io.LimitReader(r.Body, 1<<20))
		p.token, p.key, _ = strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "vapid t="), ", k=")
		s.got <- p
		select {
		case answer := <-s.answer:
			answer(rw, r)
		default:
			rw.WriteHeader(http.StatusCreated)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// next waits for a request.
func (s *pushService) next(t testing.TB) pushed {
	t.Helper()
	select {
	case p := <-s.got:
		return p
	case <-time.After(time.Minute):
		t.Fatal("the push service was not asked")
		return pushed{}
	}
}

// browser is a browser's subscription, with the private half of its keys.
type browser struct {
	key      *ecdh.PrivateKey
	auth     []byte
	endpoint string
}

func newBrowser(endpoint string) *browser {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	b := &browser{key: key, auth: make([]byte, 16), endpoint: endpoint}
	_, _ = rand.Read(b.auth)
	return b
}

func (b *browser) json() string {
	return fmt.Sprintf(`{"endpoint":%q,"expirationTime":null,"keys":{"p256dh":%q,"auth":%q}}`, b.endpoint,
		base64.RawURLEncoding.EncodeToString(b.key.PublicKey().Bytes()), base64.RawURLEncoding.EncodeToString(b.auth))
}

func pushing(t testing.TB, s *pushService) setup {
	o := options(t.TempDir())
	o.Push = webpush.Settings{Contact: "mailto:ops@example.org", Services: []string{s.URL}}
	return o
}

// want subscribes a browser, or the other way round, and wants that answer.
func (s *site) wantPush(status int, method, body string, header ...string) {
	s.t.Helper()
	if res, b := s.do(method, "/api/push", strings.NewReader(body), header...); res.StatusCode != status {
		s.t.Errorf("%s answered %d: %s", method, res.StatusCode, b)
	}
}

// TestABrowserThatIsGoneIsForgotten: 404 and 410 end a subscription, other answers do not.
func TestABrowserThatIsGoneIsForgotten(t *testing.T) {
	t.Parallel()
	service := newPushService(t)
	s := start(t, pushing(t, service))
	s.wantPush(204, "POST", newBrowser(service.URL+"/gone").json())
	service.answer <- func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusGone) }
	s.send(channel.Message{Text: "one"})
	if p := service.next(t); p.path != "/gone" {
		t.Error(p.path)
	}
	for n := -1; n != 0; {
		n = web.Subscriptions(s.Web)
	}
	s.wantPush(204, "POST", newBrowser(service.URL+"/there").json())
	service.answer <- func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Retry-After", "1")
		rw.WriteHeader(http.StatusTooManyRequests)
	}
	s.send(channel.Message{Text: "two"})
	first, start := service.next(t), time.Now()
	if p := service.next(t); p.path != "/there" || first.path != "/there" || time.Since(start) < 900*time.Millisecond {
		t.Errorf("%s, then %s after %s", first.path, p.path, time.Since(start))
	}
	if n := web.Subscriptions(s.Web); n != 1 {
		t.Errorf("%d browsers are left", n)
	}
}

// TestNobodyIsNotifiedWhoIsThere: a session with a page open, one that has ended, and a
// browser that turned it off.
func TestNobodyIsNotifiedWhoIsThere(t *testing.T) {
	service := newPushService(t)
	o := pushing(t, service)
	o.Token = token
	s := start(t, o)
	var heads [][]string
	for _, name := range []string{"here", "left", "off", "away"} {
		cookie, key := s.signIn()
		heads = append(heads, []string{"Cookie", cookie.String(), "X-Longshore-Key", key})
		s.wantPush(204, "POST", newBrowser(service.URL+"/"+name).json(), heads[len(heads)-1]...)
	}
	s.listen("", heads[0]...)
	if res, _ := s.do("POST", "/logout", nil, heads[1]...); res.StatusCode != http.StatusSeeOther {
		t.Error(res.Status)
	}
	s.wantPush(204, "DELETE", newBrowser(service.URL+"/away").json(), heads[2]...) // another session's
	s.wantPush(204, "DELETE", newBrowser(service.URL+"/off").json(), heads[2]...)
	s.wantPush(401, "POST", newBrowser(service.URL+"/nobody").json())
	s.send(channel.Message{Text: "for who is away"})
	if p := service.next(t); p.path != "/away" {
		t.Error(p.path)
	}
	s.stop()
	if n := len(service.got); n != 0 {
		t.Errorf("%d more were notified: %s", n, (<-service.got).path)
	}
}

// TestWhoSignsOutIsNotNotifiedOfWhatWaited: a notification that is to be tried again
// ends with the session.
func TestWhoSignsOutIsNotNotifiedOfWhatWaited(t *testing.T) {
	t.Parallel()
	service := newPushService(t)
	o := pushing(t, service)
	o.Token = token
	s := start(t, o)
	later := func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Retry-After", "1")
		rw.WriteHeader(http.StatusTooManyRequests)
	}
	leaves, key := s.signIn()
	head := []string{"Cookie", leaves.String(), "X-Longshore-Key", key}
	s.wantPush(204, "POST", newBrowser(service.URL+"/leaves").json(), head...)
	service.answer <- later
	s.send(channel.Message{Text: "one"})
	if p := service.next(t); p.path != "/leaves" {
		t.Error(p.path)
	}
	if res, _ := s.do("POST", "/logout", nil, head...); res.StatusCode != http.StatusSeeOther {
		t.Error(res.Status)
	}
	stays, key := s.signIn()
	s.wantPush(204, "POST", newBrowser(service.URL+"/stays").json(), "Cookie", stays.String(), "X-Longshore-Key", key)
	service.answer <- later // by then the other's time has come, too
	s.send(channel.Message{Text: "two"})
	for range 2 {
		if p := service.next(t); p.path != "/stays" {
			t.Error(p.path)
		}
	}
	s.wantPush(401, "POST", newBrowser(service.URL+"/leaves").json(), head...)
}

// TestAMemberCannotChooseWhereTheHostPosts: endpoints lie at the services alone.
func TestAMemberCannotChooseWhereTheHostPosts(t *testing.T) {
	o := options(t.TempDir())
	o.Push.Contact = "mailto:ops@example.org"
	s := start(t, o)
	for endpoint, want := range map[string]int{
		"https://fcm.googleapis.com/fcm/send/x": 204, "https://wns2-par02p.notify.windows.com/w/?token=x": 204,
		"https://updates.push.services.mozilla.com/wpush/v2/x": 204, "https://web.push.apple.com/x": 204, "https://fcm.googleapis.com:443/x": 204,
		"http://fcm.googleapis.com/x": 403, "https://fcm.googleapis.com:8443/x": 403, "https://fcm.googleapis.com.evil.example/x": 403,
		"https://evil.example/fcm.googleapis.com": 403, "https://u@fcm.googleapis.com/x": 403, "https://notify.windows.com.evil.example/": 403, "https://notify.windows.com/": 403,
		"https://evilnotify.windows.com/": 403, "http://127.0.0.1:1/": 403, "https://[::1]/": 403, "file:///etc/passwd": 403, "": 403, "https://web.push.apple.com/" + strings.Repeat("x", 1024): 400,
	} {
		s.wantPush(want, "POST", newBrowser(endpoint).json())
	}
	good := newBrowser("https://web.push.apple.com/x").json()
	for _, body := range []string{"", "{", "[]", "null", good + "x", strings.Replace(good, `"auth":"`, `"auth":"AA`, 1), strings.Replace(good, `"p256dh":"B`, `"p256dh":"A`, 1),
		strings.Replace(good, `{"e`, `{"more":1,"e`, 1)} {
		s.wantPush(400, "POST", body)
	}
	s.wantPush(413, "POST", `{"endpoint":"`+strings.Repeat("x", 5000)+`"}`)
	off := start(t, options(t.TempDir()))
	off.wantPush(404, "POST", good)
}

// TestSubscriptionsAreBounded: the oldest of a session makes room.
func TestSubscriptionsAreBounded(t *testing.T) {
	service := newPushService(t)
	o := pushing(t, service)
	o.Token = token
	s := start(t, o)
	cookie, key := s.signIn()
	for i := range 8 {
		s.wantPush(204, "POST", newBrowser(fmt.Sprint(service.URL, "/", i)).json(), "Cookie", cookie.String(), "X-Longshore-Key", key)
	}
	if n := web.Subscriptions(s.Web); n != 5 {
		t.Errorf("the session has %d", n)
	}
}
