package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// requestSeeds are the requests of a page, each as its head and its body, and
// some that no page makes.
func requestSeeds() [][2]string {
	const chat, form = "/api/chats/family/messages", "Content-Type: multipart/form-data; boundary=b\n"
	post := func(header string) string { return "POST " + chat + " HTTP/1.1\n" + header }
	get := func(target string) string { return "GET " + target + " HTTP/1.1\n" }
	part := func(disposition, body string) string {
		return "--b\r\nContent-Disposition: form-data; " + disposition + "\r\n\r\n" + body + "\r\n"
	}
	const kind = "Content-Type: application/json\n"
	return [][2]string{
		{post(kind), `{"text":"hello","from":"Ann","key":"12345678","author":"abcdefgh"}`},
		{post(kind), `{"text":"\ud800\u0000\u202e","from":"\u200b","replyTo":"x"}`}, {post(kind), "{\"text\":\"\xff\xfe\"}"}, {post(kind), `{"text":"x"}{"text":"y"}`},
		{post(form), part(`name="text"`, "look") + part(`name="from"`, "Ann") + part(`name="files"; filename="a.txt"`, "content") + part(`name="files"; filename="b.png"`, "\x89PNG\r\n\x1a\n") + "--b--\r\n"},
		{post(form), part(`name="files"; filename="../../x\"; filename*=utf-8''%2e%2e%2fy"`, "x") + part(`name="files"; filename="con.exe"`, "MZ") + "--b--\r\n"},
		{post(form), part(`name="files"; filename="empty"`, "") + "--b--\r\n"}, {post(form), "--b\r\n\r\n"}, {post("Content-Type: multipart/form-data; boundary=\"\"\n"), "x"},
		{"POST /api/chats/family/seen HTTP/1.1\n" + kind, `{"ids":["x","../y"]}`}, {"POST /login HTTP/1.1\nContent-Type: application/x-www-form-urlencoded\n", "token=wrong"},
		{get("/"), ""}, {get("/c/family"), ""}, {get("/c/..%2f"), ""}, {get("/assets/main.js"), ""}, {get("/assets/..%2flogin.html"), ""}, {get("/api/chats"), ""},
		{get(chat + "?limit=3&before=x"), ""}, {get(chat + "?after=%00"), ""}, {get(chat + "?limit=-1"), ""}, {get("/?token=x"), ""}, {get("/files/0/a.txt") + "Range: bytes=0-,5-\n", ""},
		{get("/api/chats/family/events?after=0"), ""}, {get("/api/chats/family/events") + "Last-Event-ID: 0\n", ""}, {get("/") + "Cookie: longshore=x\nAuthorization: Bearer x\nSec-Fetch-Site: cross-site\nOrigin: null\n", ""},
	}
}

// FuzzRequests: whatever request comes in, nothing breaks inside; what the host
// gets of it is bounded text and files under safe names; and without the token
// nothing of a chat is given out.
func FuzzRequests(f *testing.F) {
	opts := options(f.TempDir())
	opts.MaxUpload, opts.MaxFiles, opts.Quota, opts.Roll = 1000, 2, 20_000, true
	open := start(f, opts)
	locked := options(f.TempDir())
	locked.Token = "a token that no request of these has"
	closed := start(f, locked)
	for _, seed := range requestSeeds() {
		f.Add(seed[0], []byte(seed[1]))
	}
	posted := map[string]bool{} // ids that the host got: the same key is the same post
	f.Fuzz(func(t *testing.T, head string, body []byte) {
		if len(body) > 4<<10 {
			return
		}
		res := open.serve(t.Context(), head, body)
		if res == nil {
			return
		}
		if res.StatusCode >= http.StatusInternalServerError && res.StatusCode != http.StatusInsufficientStorage {
			answer, _ := io.ReadAll(res.Body)
			t.Errorf("answered %s: %s", res.Status, answer)
		}
		if res.Header.Get("Content-Security-Policy") == "" || res.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("answered without its guards: %v", res.Header)
		}
		fresh := false
		if res.StatusCode == http.StatusCreated {
			answer, _ := io.ReadAll(res.Body)
			id := (&site{t: t}).decode(answer)[0].ID
			fresh, posted[id] = !posted[id], true
		}
		if fresh { // it comes from the history
			open.in.wait(t, func() bool { return len(open.in.kept) > 0 })
		}
		got := open.in.take()
		if fresh != (len(got) == 1) {
			t.Fatalf("answered %s, new: %t, and the host got %d messages", res.Status, fresh, len(got))
		}
		for _, m := range got {
			checkPosted(t, m, opts.MaxFiles)
		}
		res = closed.serve(t.Context(), head, body)
		path := res.Request.URL.Path
		if res.StatusCode < 300 && path != "/login" && !strings.HasPrefix(path, "/assets/") || len(closed.in.take()) != 0 {
			t.Errorf("without the token %s answered %s", path, res.Status)
		}
	})
}

// serve hands a request to the handlers without a connection, so that a panic
// is seen; nil if it is no request. A stream ends after its first event.
func (s *site) serve(ctx context.Context, head string, body []byte) *http.Response {
	req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head + "Host: " + s.Addr().String() + "\n\n")))
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req = req.WithContext(ctx)
	req.Body, req.ContentLength, req.RemoteAddr = io.NopCloser(bytes.NewReader(body)), int64(len(body)), "127.0.0.1:1"
	rec := &once{ResponseRecorder: httptest.NewRecorder(), cancel: cancel}
	s.Handler().ServeHTTP(rec, req)
	res := rec.Result()
	res.Request = req
	return res
}

// once ends the request when a stream has begun.
type once struct {
	*httptest.ResponseRecorder
	cancel func()
}

func (o *once) Write(b []byte) (int, error) {
	if o.Header().Get("Content-Type") == "text/event-stream" {
		o.cancel()
	}
	return o.ResponseRecorder.Write(b)
}

// take empties the inbox.
func (in *inbox) take() []channel.Inbound {
	in.mu.Lock()
	defer in.mu.Unlock()
	kept := in.kept
	in.kept, in.bodies = nil, nil
	return kept
}

func checkPosted(t *testing.T, m channel.Inbound, most int) {
	t.Helper()
	if !utf8.ValidString(m.Text) || utf8.RuneCountInString(m.Text) > 20_000 || m.From == "" || channel.CleanName(m.From) != m.From {
		t.Errorf("the host got %q from %q", m.Text, m.From)
	}
	if len(m.Files) > most || m.Text == "" && len(m.Files) == 0 {
		t.Errorf("the host got %d files and %q", len(m.Files), m.Text)
	}
	for _, file := range m.Files {
		if media.SafeName(file.Name) != file.Name || file.Size <= 0 || file.Size > 1000 || file.MIME == "" {
			t.Errorf("the host got the file %+v", file.Info)
		}
	}
	if _, err := json.Marshal(m.Quote); err != nil {
		t.Error(err)
	}
}
