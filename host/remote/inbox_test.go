package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/remote/intake"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/ipc"
)

// letters is an inbox of the group b, with one file on disk.
type letters struct {
	mu        sync.Mutex
	waiting   []ipc.Message
	changed   chan struct{}
	asked     chan struct{}
	answers   map[string]string
	file      string
	unheard   []string
	questions map[string]*ipc.Permission // by folder, thread and id
	decided   chan struct{}
}

func newLetters(t testing.TB) *letters {
	t.Helper()
	l := &letters{changed: make(chan struct{}), asked: make(chan struct{}, 100), answers: map[string]string{}, file: filepath.Join(t.TempDir(), "f")}
	if err := os.WriteFile(l.file, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *letters) post(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, ipc.Message{ID: id, Text: "<hello>"})
	close(l.changed)
	l.changed = make(chan struct{})
}

// awaits waits until it was asked so many times.
func (l *letters) awaits(polls int) {
	for range polls {
		<-l.asked
	}
}

var errUnknownLetter = &refusal.Error{Code: "unknown_message", Message: "no such message", Hint: "look"}

func (l *letters) Fetch(_ context.Context, folder, _, after string) (ipc.Inbox, <-chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.asked <- struct{}{}:
	default:
	}
	in := ipc.Inbox{Messages: []ipc.Message{}}
	for _, m := range l.waiting {
		if folder == "b" && m.ID > after {
			in.Messages = append(in.Messages, m)
		}
	}
	return in, l.changed, nil
}

func (l *letters) Ack(_ context.Context, folder, _, id, answer string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, m := range l.waiting {
		if m.ID == id && folder == "b" {
			l.waiting = append(l.waiting[:i], l.waiting[i+1:]...)
			l.answers[id] = answer
			return true, nil
		}
	}
	return false, errUnknownLetter
}

func (l *letters) Unheard(folder, _, id string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if folder != "b" || !slices.ContainsFunc(l.waiting, func(m ipc.Message) bool { return m.ID == id }) {
		return false, errUnknownLetter
	}
	l.unheard = append(l.unheard, id)
	return true, nil
}

func (l *letters) AskPermission(_ context.Context, folder, thread string, p ipc.Permission) (ipc.Permission, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p.ID, p.Expires = "q1", time.Now().Add(time.Hour)
	l.questions = map[string]*ipc.Permission{folder + " " + thread + " q1": &p}
	l.decided = make(chan struct{})
	return p, nil
}

func (l *letters) Permission(ctx context.Context, folder, thread, id string, wait time.Duration) (ipc.Permission, error) {
	p, decided, err := l.permission(folder, thread, id)
	if err != nil || wait == 0 {
		return p, err
	}
	select {
	case <-decided:
	case <-time.After(wait):
	case <-ctx.Done():
	}
	p, _, err = l.permission(folder, thread, id)
	return p, err
}

func (l *letters) permission(folder, thread, id string) (ipc.Permission, <-chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.questions[folder+" "+thread+" "+id]
	if p == nil {
		return ipc.Permission{}, nil, &refusal.Error{Code: "unknown_permission", Message: "no", Hint: "no"}
	}
	select {
	case l.asked <- struct{}{}:
	default:
	}
	return *p, l.decided, nil
}

// decides answers the question.
func (l *letters) decides(answer string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.questions {
		p.Answer = answer
	}
	close(l.decided)
}

func (l *letters) FetchFile(folder, _, id string, number int) (*os.File, ipc.MessageFile, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.waiting {
		if m.ID == id && folder == "b" && number == 1 {
			f, err := os.Open(l.file)
			return f, ipc.MessageFile{Name: "../a\"\r\nb.html"}, err
		}
	}
	return nil, ipc.MessageFile{}, errUnknownLetter
}

func withLetters(l *letters) func(*Options) { return func(o *Options) { o.Inbox = l } }

// TestAFetchWaitsForAMessage, and ends at once when one comes, and with none after its time.
func TestAFetchWaitsForAMessage(t *testing.T) {
	l := newLetters(t)
	w := newWorld(t, withLetters(l))
	token := w.token("b", "")
	if a := w.ask("GET", "/api/inbox", token, nil); a.http != 200 || !strings.Contains(a.body, `"messages":[]`) {
		t.Error(a.body)
	}
	got := make(chan answered, 1)
	go func() { got <- w.ask("GET", "/api/inbox?wait=40s", token, nil) }()
	l.awaits(2)
	l.post("1")
	if a := <-got; !strings.Contains(a.body, `"id":"1"`) {
		t.Error(a.body)
	}
	if a := w.ask("GET", "/api/inbox?after=1&wait=1ms", token, nil); !strings.Contains(a.body, `"messages":[]`) {
		t.Error("behind the cursor:", a.body)
	}
	for _, bad := range []string{"?wait=long", "?wait=-1s", "?after=1&after=2", "?after=" + strings.Repeat("x", maxMessageID+1)} {
		if a := w.ask("GET", "/api/inbox"+bad, token, nil); a.http != 400 || a.Error.Hint == "" {
			t.Errorf("%.20s: %d %s", bad, a.http, a.body)
		}
	}
}

// TestWaitingFetchesAreBounded for a token, whose client holds up no other token's, and for
// a group.
func TestWaitingFetchesAreBounded(t *testing.T) {
	p, fetches := &polls{}, 0
	for p.begin(tokens.Identity{Folder: "b", Token: fmt.Sprint(fetches / maxTokenPolls)}) {
		fetches++
	}
	if fetches != maxGroupPolls || !p.begin(tokens.Identity{Folder: "a", Token: "x"}) {
		t.Errorf("%d fetches of a group wait", fetches)
	}
	l := newLetters(t)
	w := newWorld(t, withLetters(l))
	token := w.token("b", "")
	ctx, leave := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for range maxTokenPolls {
		waiting.Go(func() {
			r, _ := http.NewRequestWithContext(ctx, "GET", w.url+"/api/inbox?wait=40s", nil)
			r.Header.Set("Authorization", "Bearer "+token)
			if res, err := http.DefaultClient.Do(r); err == nil {
				_ = res.Body.Close()
			}
		})
	}
	l.awaits(maxTokenPolls)
	if a := w.ask("GET", "/api/inbox?wait=1s", token, nil); a.http != 429 || a.Error.Code != "busy" {
		t.Errorf("one more: %d %s", a.http, a.body)
	}
	if a := w.ask("GET", "/api/inbox", w.token("b", "t"), nil); a.http != 200 {
		t.Errorf("another token's: %d %s", a.http, a.body)
	}
	leave()
	waiting.Wait()
	for {
		if a := w.ask("GET", "/api/inbox", token, nil); a.http == 200 {
			return // those who left hold no place
		}
	}
}

// TestAMessageIsAcknowledged with an answer or without one, and nothing else.
func TestAMessageIsAcknowledged(t *testing.T) {
	l := newLetters(t)
	w := newWorld(t, withLetters(l))
	token, other := w.token("b", ""), w.token("a", "")
	l.post("1")
	l.post("2")
	kind := []string{"Content-Type", "application/json"}
	for body, status := range map[string]int{`{"text":1}`: 400, `{"txt":"a"}`: 400, `{"text":"a","text":"b"}`: 400, `[]`: 400, `{`: 400, `{"text":"` + strings.Repeat("x", maxFields) + `"}`: 413} {
		if a := w.ask("POST", "/api/inbox/1/ack", token, strings.NewReader(body), kind...); a.http != status {
			t.Errorf("%.30s: %d %s", body, a.http, a.body)
		}
	}
	if a := w.ask("POST", "/api/inbox/1/ack", token, strings.NewReader("text=x"), "Content-Type", "text/plain"); a.http != 415 {
		t.Error(a.http, a.body)
	}
	if a := w.ask("POST", "/api/inbox/1/ack", token, strings.NewReader(`{"text":"hi"}`), kind...); a.http != 200 || !strings.Contains(a.body, `"acknowledged":true`) {
		t.Error(a.http, a.body)
	}
	if a := w.ask("POST", "/api/inbox/2/ack", token, nil); a.http != 200 || l.answers["1"] != "hi" || l.answers["2"] != "" {
		t.Error(a.http, a.body, l.answers)
	}
	l.post("3")
	unknown := w.ask("POST", "/api/inbox/9/ack", token, nil)
	if theirs := w.ask("POST", "/api/inbox/3/ack", other, nil); theirs.http != 404 || theirs.body != unknown.body {
		t.Errorf("another group's: %d %s; unknown: %s", theirs.http, theirs.body, unknown.body)
	}
	for _, nowhere := range []string{"/api/inbox/3", "/api/inbox/3/", "/api/inbox//ack", "/api/inbox/3/ack/x", "/api/inbox/" + strings.Repeat("x", maxMessageID+1) + "/ack"} {
		if a := w.ask("POST", nowhere, token, nil); a.http != 404 {
			t.Errorf("%.30s: %d %s", nowhere, a.http, a.body)
		}
	}
}

// TestAFileOfAMessageComesInRanges, with its exact length, and never as a page.
func TestAFileOfAMessageComesInRanges(t *testing.T) {
	l := newLetters(t)
	w := newWorld(t, withLetters(l))
	token := w.token("b", "")
	l.post("1")
	for header, want := range map[string]string{"": "0123456789", "bytes=7-": "789", "bytes=-2": "89"} {
		r, _ := http.NewRequestWithContext(t.Context(), "GET", "/api/inbox/1/files/1", nil)
		r.Host = "127.0.0.1"
		r.Header.Set("Authorization", "Bearer "+token)
		if header != "" {
			r.Header.Set("Range", header)
		}
		rw := httptest.NewRecorder()
		w.ServeHTTP(rw, r)
		h := rw.Header()
		if rw.Body.String() != want || h.Get("Content-Length") != fmt.Sprint(len(want)) || h.Get("Content-Type") != "application/octet-stream" || h.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment; ") || strings.ContainsAny(h.Get("Content-Disposition"), "/\r\n") {
			t.Errorf("%q: %d %q %v", header, rw.Code, rw.Body, h)
		}
	}
	if a := w.ask("GET", "/api/inbox/1/files/1", token, nil, "Range", "bytes=20-"); a.http != 416 {
		t.Error(a.http)
	}
	unknown := w.ask("GET", "/api/inbox/9/files/1", token, nil)
	for _, n := range []string{"1", "2"} {
		if a := w.ask("GET", "/api/inbox/1/files/"+n, w.token("a", ""), nil); a.http != 404 || a.body != unknown.body {
			t.Errorf("another group's file: %d %s", a.http, a.body)
		}
	}
	for _, n := range []string{"0", "-1", "01", "1/", "", "99999999999999999999"} {
		if a := w.ask("GET", "/api/inbox/1/files/"+n, token, nil); a.http != 404 {
			t.Errorf("%q: %d", n, a.http)
		}
	}
	if a := newWorld(t).ask("GET", "/api/inbox", token, nil); a.http != 401 {
		t.Error("at another host:", a.http)
	}
}

// TestAGroupWithoutAnInboxSaysSo.
func TestAGroupWithoutAnInboxSaysSo(t *testing.T) {
	w := newWorld(t)
	token := w.token("b", "")
	for _, path := range []string{"/api/inbox", "/api/inbox/1/files/1"} {
		if a := w.ask("GET", path, token, nil); a.http != 404 || a.Error.Code != "no_inbox" {
			t.Error(a.http, a.body)
		}
	}
}

// FuzzInbox: whatever follows the inbox's address, it is answered, and only the messages of
// the token's group are.
func FuzzInbox(f *testing.F) {
	l := newLetters(f)
	w := newWorld(f, withLetters(l))
	theirs := w.token("a", "")
	l.post("1")
	f.Add("GET", "", "after=0&wait=0s", "bytes=0-")
	f.Add("POST", "/1/ack", "", "")
	f.Add("GET", "/1/files/1", "", "bytes=5-2,1-1")
	f.Add("HEAD", "/../1/files/1", "after=%00", "x")
	f.Fuzz(func(t *testing.T, method, path, query, span string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.Method, r.Host, r.URL.Path, r.URL.RawQuery = method, "127.0.0.1", inboxPath+path, query
		if r.URL.Query().Has("wait") {
			r.URL.RawQuery = ""
		}
		r.Header["Range"], r.Header["Authorization"] = []string{span}, []string{"Bearer " + theirs}
		rw := httptest.NewRecorder()
		w.ServeHTTP(rw, r)
		if rw.Code >= 500 || strings.Contains(rw.Body.String(), "hello") || rw.Body.String() == "0123456789" {
			t.Errorf("%q %q %q: %d %s", method, path, query, rw.Code, rw.Body)
		}
		if l.post("x"); len(l.answers) > 0 {
			t.Error("another group's message is acknowledged")
		}
		l.waiting = l.waiting[:1]
	})
}

// FuzzAck: what is taken is nothing, or an object with one text.
func FuzzAck(f *testing.F) {
	for _, seed := range []string{``, `{}`, `{"text":"a"}`, `{"text":"a","text":"b"}`, `{"text":{}}`, `{"text":"\ud800"}`, `{"text":"a"}}`} {
		f.Add("application/json", seed)
	}
	f.Add("text/plain", "a")
	f.Fuzz(func(t *testing.T, kind, body string) {
		answer, err := readAck(intake.DefaultLimits(), kind, strings.NewReader(body))
		if err != nil || body == "" {
			return
		}
		var want struct{ Text string }
		if err := json.Unmarshal([]byte(body), &want); err != nil || want.Text != answer {
			t.Errorf("%q is %q, %v", body, answer, errors.Join(err))
		}
	})
}
