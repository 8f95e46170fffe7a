package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/host/turns"
	"github.com/longshore-bridge/longshore/internal/finding"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// control is a host of which every text that others choose is hostile.
type control struct {
	operator.Control // answers nothing else
	name             string

	mu    sync.Mutex
	asked []string
	looks int

	linked bool
}

func (c *control) note(call string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, call)
}

func (c *control) did(call string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.asked {
		if one == call {
			return true
		}
	}
	return false
}

func (c *control) item(id string, kind operator.Kind, state string) operator.Item {
	return operator.Item{
		ID: id, Kind: kind, Group: c.name, Chat: c.name, State: state, Created: time.Now(), Files: 2, Names: []string{c.name}, Text: c.name, Bytes: 1000, Done: 250,
		Code: "code", Message: c.name, Hint: c.name, Raw: c.name,
		Parts:    []operator.Part{{Name: c.name, Kind: "document", Text: c.name, Bytes: 1000, State: state}},
		Timeline: []operator.Event{{What: "requested", Time: time.Now()}, {What: "accepted", Time: time.Now()}, {What: "sent", Part: 1, Detail: c.name}},
	}
}

func (c *control) Status(context.Context) (operator.Status, error) {
	c.mu.Lock()
	c.looks++
	c.mu.Unlock()
	return operator.Status{
		Running: true, PID: 7, Version: "v1", State: c.name, Started: time.Now(), Applied: time.Now(), Errors: 1,
		Channels:   []operator.Channel{{Name: "whatsapp", Detail: c.name, Scan: c.name}, {Name: "web", Connected: true}},
		Groups:     []operator.Group{{Folder: "family", Name: c.name, Chat: c.name, Assistant: "echo", Trigger: c.name, Pending: 1, Bytes: 1000, Turns: turns.Turns{Done: time.Now(), Broke: time.Now(), Trouble: c.name}}, {Folder: "work"}},
		Assistants: []operator.Assistant{{Group: "family", State: "broken", Detail: c.name, Cause: "model", Started: time.Now()}},
		Findings:   []finding.Finding{{Name: "disk_low", Part: "disk", Severity: finding.Fault, Cause: c.name, Remedy: c.name, Operation: "reload"}},
		Disk:       operator.Disk{Free: 1 << 30, Total: 2 << 30}, Quota: operator.Quota{Pending: 64, Bytes: 1 << 20},
	}, nil
}

func (c *control) List(_ context.Context, f operator.Filter) ([]operator.Item, error) {
	if f.Failed {
		return []operator.Item{c.item("refused-1", operator.Request, "refused")}, nil
	}
	if f.Waiting {
		return []operator.Item{c.item("fedcba9876543210", operator.Delivery, "waiting")}, nil
	}
	return []operator.Item{c.item("0123456789abcdef", operator.Delivery, "sending")}, nil
}

func (c *control) Show(_ context.Context, id string) (operator.Item, error) {
	return c.item(id, operator.Request, "refused"), nil
}

func (c *control) Retry(_ context.Context, id string) error { c.note("retry " + id); return nil }
func (c *control) Drop(_ context.Context, id string) error  { c.note("drop " + id); return nil }
func (c *control) Decide(_ context.Context, id string, yes bool) error {
	c.note(fmt.Sprint(id, " ", yes))
	return nil
}

func (c *control) Tasks(context.Context, string) ([]tasks.Task, error) {
	return []tasks.Task{{ID: "task-1", Folder: c.name, Name: c.name, Prompt: c.name, Words: "daily", Status: "active"}}, nil
}

func (c *control) PairingCodes(context.Context) ([]operator.PairingCode, error) {
	return []operator.PairingCode{{Code: "ABCD-EFGH", Chat: c.name, Channel: "web", From: c.name}}, nil
}

func (c *control) OperateTask(_ context.Context, id, verb string) (tasks.Answer, error) {
	c.note(verb + " " + id)
	return tasks.Answer{Words: c.name}, nil
}

func (c *control) StopAssistant(_ context.Context, folder string) (operator.Stopped, error) {
	c.note("stop " + folder)
	return operator.Stopped{Turns: 1}, nil
}

func (c *control) Link(context.Context, string) (operator.Linking, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.linked {
		return operator.Linking{Account: c.name}, nil
	}
	return operator.Linking{Scan: c.name, Code: []string{"10", "01"}}, nil
}

func (c *control) Reload(context.Context, bool) (operator.Reloaded, error) {
	return operator.Reloaded{Problems: []string{c.name}}, nil
}

func (c *control) Log(_ context.Context, q operator.LogQuery) (operator.LogPage, error) {
	page := operator.LogPage{Lines: []operator.LogLine{}, Next: 1}
	if q.After == 0 {
		page.Lines = append(page.Lines, operator.LogLine{Seq: 1, Level: "WARN", Group: c.name, Message: c.name, Fields: c.name})
	}
	return page, nil
}

func (c *control) Audit(_ context.Context, q operator.AuditQuery) (operator.AuditPage, error) {
	c.note(fmt.Sprintf("audit %s, %s, %v, %v", q.Text, q.Event, !q.From.IsZero(), q.To.Sub(q.From)))
	return operator.AuditPage{Incomplete: true, Entries: []audit.Entry{{
		Number: 1, Time: time.Now(), Event: "refused", Group: c.name, Chat: c.name, Code: "screened", Message: c.name, Delivery: c.name,
		Parts: []audit.Part{{Kind: "document", Name: c.name, Bytes: 1000, SHA256: c.name, Status: "refused"}},
	}}}, nil
}

func open(t *testing.T, c operator.Control) *Console {
	t.Helper()
	page := New(Options{Listen: "127.0.0.1:0", Hosts: []string{"ops.example"}, Control: c, Log: slog.New(slog.DiscardHandler)})
	l, err := page.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return page
}

// ask makes a request as a browser on this machine does.
func ask(c *Console, method, path, key, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8400"
	r.Header.Set("Authorization", "Bearer "+key)
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	c.Handler().ServeHTTP(w, r)
	return w
}

func keyIn(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	_, rest, ok := strings.Cut(w.Body.String(), `"key":"`)
	if w.Code != http.StatusOK || !ok {
		t.Fatalf("signing in: %d, %s", w.Code, w.Body)
	}
	key, _, _ := strings.Cut(rest, `"`)
	return key
}

func tokenOf(c *Console) string {
	_, token, _ := strings.Cut(c.SignIn(), "#")
	return token
}

func TestOnlyASignedInBrowserIsAnswered(t *testing.T) {
	page := open(t, &control{name: "x"})
	token := tokenOf(page)
	key := keyIn(t, ask(page, "POST", "/sign-in", "", token))
	if w := ask(page, "POST", "/sign-in", "", token); w.Code != http.StatusUnauthorized {
		t.Errorf("a token worked twice: %d", w.Code)
	}
	paths := []string{"GET /v1/overview", "GET /v1/original/x", "POST /sign-out"}
	for _, call := range slices.Concat(reads, acts) {
		paths = append(paths, "POST /v1/"+call)
	}
	for _, call := range paths {
		method, path, _ := strings.Cut(call, " ")
		for name, key := range map[string]string{"none": "", "another": "another"} {
			if w := ask(page, method, path, key, ""); w.Code != http.StatusUnauthorized {
				t.Errorf("%s with the key %s: %d", call, name, w.Code)
			}
		}
	}
	w := ask(page, "GET", "/v1/overview", key, "")
	if w.Code != http.StatusOK || w.Header().Get("Set-Cookie") != "" || !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("signed in: %d, %v", w.Code, w.Header())
	}
	for _, path := range []string{"/v1/send", "/v1/page", "/v1/unpair", "/v1/make-token", "/metrics"} {
		if w := ask(page, "POST", path, key, ""); w.Code != http.StatusNotFound && w.Code != http.StatusMethodNotAllowed {
			t.Errorf("the page may call %s: %d", path, w.Code)
		}
	}
	ask(page, "POST", "/sign-out", key, "")
	if w := ask(page, "GET", "/v1/overview", key, ""); w.Code != http.StatusUnauthorized {
		t.Errorf("after signing out: %d", w.Code)
	}
}

func TestNoOtherSiteReachesThePage(t *testing.T) {
	c := &control{name: "x"}
	page := open(t, c)
	key := keyIn(t, ask(page, "POST", "/sign-in", "", tokenOf(page)))
	for name, header := range map[string][]string{
		"a rebound name":                   {"Host", "evil.example:8400"},
		"another site":                     {"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"},
		"another port of the same machine": {"Origin", "http://127.0.0.1:8420", "Sec-Fetch-Site", "same-site"},
		"a form without a site":            {"Origin", "null"},
	} {
		w := ask(page, "POST", "/v1/retry", key, `"x"`, header...)
		if w.Code != http.StatusForbidden && w.Code != http.StatusMisdirectedRequest || c.did("retry x") {
			t.Errorf("%s: %d, %s", name, w.Code, w.Body)
		}
		if w := ask(page, "POST", "/sign-in", "", tokenOf(page), header...); w.Code == http.StatusOK {
			t.Errorf("%s signs in", name)
		}
	}
	if w := ask(page, "GET", "/", "", "", "Host", "evil.example"); w.Code != http.StatusMisdirectedRequest {
		t.Errorf("the page by a rebound name: %d", w.Code)
	}
	if w := ask(page, "POST", "/v1/retry", key, `"x"`, "Host", "ops.example", "Origin", "https://ops.example"); w.Code != http.StatusOK || !c.did("retry x") {
		t.Errorf("by a name of its own: %d, %s", w.Code, w.Body)
	}
}

func TestTheOriginalIsADownload(t *testing.T) {
	page := open(t, &control{name: "<script>alert(1)</script>"})
	key := keyIn(t, ask(page, "POST", "/sign-in", "", tokenOf(page)))
	w := ask(page, "GET", "/v1/original/x", key, "")
	if w.Body.String() != "<script>alert(1)</script>" || w.Header().Get("Content-Type") != "application/octet-stream" ||
		w.Header().Get("Content-Disposition") != `attachment; filename="request.json"` || w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%q, %v", w.Body, w.Header())
	}
}

func TestSessionsAndTokensEnd(t *testing.T) {
	page := open(t, &control{name: "x"})
	synctest.Test(t, func(t *testing.T) {
		token := tokenOf(page)
		time.Sleep(tokenAge)
		if w := ask(page, "POST", "/sign-in", "", token); w.Code != http.StatusUnauthorized {
			t.Errorf("an old token: %d", w.Code)
		}
		key := keyIn(t, ask(page, "POST", "/sign-in", "", tokenOf(page)))
		used := func() int { return ask(page, "POST", "/v1/log", key, "{}").Code }
		for range int(sessionAge/sessionIdle) * 2 {
			if time.Sleep(sessionIdle / 2); used() != http.StatusOK {
				break
			}
		}
		if used() != http.StatusUnauthorized {
			t.Error("a session in use goes on for ever")
		}
		key = keyIn(t, ask(page, "POST", "/sign-in", "", tokenOf(page)))
		if time.Sleep(sessionIdle); used() != http.StatusUnauthorized {
			t.Error("a session without use goes on")
		}
	})
}

func TestTokensAndSessionsAreBounded(t *testing.T) {
	var s sessions
	first := s.token()
	for range 1000 {
		s.begin(s.token())
	}
	for range 1000 {
		s.token()
	}
	if len(s.tokens) > most || len(s.keys) > most {
		t.Errorf("%d tokens, %d sessions", len(s.tokens), len(s.keys))
	}
	if _, ok := s.begin(first); ok {
		t.Error("the oldest token still works")
	}
}

func TestManyPagesLookOnce(t *testing.T) {
	c := &control{name: "x"}
	page := open(t, c)
	key := keyIn(t, ask(page, "POST", "/sign-in", "", tokenOf(page)))
	page.overviews.at = time.Now().Add(time.Hour) // a slow machine looks no more often either
	page.overviews.body = []byte(`{}`)
	var g sync.WaitGroup
	for range 20 {
		g.Go(func() { ask(page, "GET", "/v1/overview", key, "") })
	}
	g.Wait()
	if c.looks != 0 {
		t.Errorf("the host was looked at %d times", c.looks)
	}
}

func TestItIsServedOnLoopbackUntilTheEnd(t *testing.T) {
	if _, err := New(Options{Listen: "0.0.0.0:0"}).Listen(); err == nil {
		t.Error("it is open to other machines")
	}
	page := open(t, &control{name: "x"})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	l, err := page.Listen()
	if err != nil {
		t.Fatal(err)
	}
	go func() { done <- page.Serve(ctx, l) }()
	address, _, _ := strings.Cut(page.SignIn(), "#")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || !strings.Contains(string(body), "<title>Longshore, operator</title>") {
		t.Errorf("%v, %s", err, body)
	}
	stop()
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
