package keys

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/longshore-bridge/longshore/host/state/statetest"
)

const (
	secret = "sk-real-0123456789abcdef"
	dummy  = "dummy-of-the-container"
)

// world is a provider and a group's proxy before it, on a socket.
type world struct {
	t        *testing.T
	seen     chan *http.Request // what the provider got, with its body in the header X-Body
	settings Settings
	client   *http.Client
	socket   string
	ledger   *Ledger
	of       *Proxy
}

func (w *world) proxy() *Proxy {
	return New("family", accessFunc(func() Settings { return w.settings }), w.ledger, slog.New(slog.DiscardHandler))
}

func newLedger(t *testing.T, dir string) *Ledger {
	t.Helper()
	l, err := OpenLedger(t.Context(), statetest.Open(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func newWorld(t *testing.T, provider http.HandlerFunc) *world {
	t.Helper()
	w := &world{t: t, seen: make(chan *http.Request, 100)}
	far := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Header.Set("X-Body", string(body))
		w.seen <- r
		provider(rw, r)
	}))
	t.Cleanup(far.Close)
	u, err := ParseURL(far.URL)
	if err != nil {
		t.Fatal(err)
	}
	v1 := *u
	v1.Path = "/v1"
	for _, p := range Known() {
		switch p.Key {
		case "OPENAI_API_KEY":
			w.settings.Upstreams = append(w.settings.Upstreams, Upstream{p, &v1, secret})
		case "ANTHROPIC_API_KEY", "GEMINI_API_KEY":
			w.settings.Upstreams = append(w.settings.Upstreams, Upstream{p, u, secret})
		}
	}
	w.ledger = newLedger(t, t.TempDir())
	w.of = w.proxy()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long-", 30), "family")
	s, err := Listen(dir, os.Geteuid(), os.Getegid(), w.of)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	short, err := os.MkdirTemp("", "k")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	if err := os.Symlink(dir, short+"/d"); err != nil {
		t.Fatal(err)
	}
	w.socket = short + "/d/" + Socket
	transport := &http.Transport{Dial: func(string, string) (net.Conn, error) { return net.Dial("unix", w.socket) }}
	t.Cleanup(transport.CloseIdleConnections)
	w.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return w
}

func ok(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{"fine":true}`) }

// call makes a call and returns the status and the text of its answer.
func (w *world) call(method, target, body string, header ...string) (int, string, http.Header) {
	w.t.Helper()
	req, err := http.NewRequest(method, "http://127.0.0.1:8431"+target, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := w.client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Header
}

func TestProviderGetsTheRealKeyAndNothingOfTheClients(t *testing.T) {
	w := newWorld(t, ok)
	for _, one := range []struct{ target, path, query, header, value string }{
		{"/anthropic/v1/messages?beta=true&key=" + dummy, "/v1/messages", "beta=true", "X-Api-Key", secret},
		{"/openai/v1/responses?api_key=" + dummy, "/v1/responses", "", "Authorization", "Bearer " + secret},
		{"/google/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse&key=" + dummy, "/v1beta/models/gemini-2.5-flash:streamGenerateContent", "alt=sse", "X-Goog-Api-Key", secret},
	} {
		status, text, _ := w.call("POST", one.target, `{"model":"m"}`, "X-Api-Key", dummy, "Authorization", "Bearer "+dummy,
			"X-Goog-Api-Key", dummy, "Cookie", dummy, "X-Forwarded-For", dummy, "Openai-Organization", dummy, "Anthropic-Version", "2023-06-01")
		if status != 200 || text != `{"fine":true}` {
			t.Fatalf("%s: %d %s", one.target, status, text)
		}
		r := <-w.seen
		if r.URL.Path != one.path || r.URL.RawQuery != one.query || r.Header.Get(one.header) != one.value || r.Header.Get("Anthropic-Version") != "2023-06-01" {
			t.Errorf("%s reached the provider as %s with %v", one.target, r.URL, r.Header)
		}
		if all := fmt.Sprint(r.URL, r.Header, r.Host); strings.Contains(all, dummy) || strings.Contains(all, "8431") {
			t.Errorf("the provider sees something of the client's: %s", all)
		}
	}
}

// TestServiceOfTheOperatorsDescription is called as it was described, and no further.
func TestServiceOfTheOperatorsDescription(t *testing.T) {
	w := newWorld(t, func(rw http.ResponseWriter, _ *http.Request) { io.WriteString(rw, chatJSON) })
	p, err := Custom("mine", "openai", []string{"POST /v2/*/chat/completions", "GET /v2/models", "POST /v2/count:input_tokens"})
	if err != nil {
		t.Fatal(err)
	}
	p.Header, p.Scheme = "X-Mine", "Key"
	base := *w.settings.Upstreams[0].URL
	base.Path = "/base"
	token := Known()[1] // ANTHROPIC_AUTH_TOKEN
	w.settings.Upstreams = []Upstream{{p, &base, secret}, {token, &base, secret}}
	if status, text, _ := w.call("POST", "/providers/mine/v2/a.b/chat/completions", `{"model":"m","stream":true}`, "X-Mine", dummy); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	if r := <-w.seen; r.URL.Path != "/base/v2/a.b/chat/completions" || r.Header.Get("X-Mine") != "Key "+secret || !strings.Contains(r.Header.Get("X-Body"), "include_usage") {
		t.Errorf("%s with %v", r.URL, r.Header)
	}
	if u := w.used(1); u.Total() != 90 {
		t.Errorf("%+v", u)
	}
	for _, target := range []string{"/providers/mine/v2/a/b/chat/completions", "/providers/mine/v2/../chat/completions", "/providers/other/v2/models", "/providers/minev2/models"} {
		if status, text, _ := w.call("POST", target, "{}"); status != 403 {
			t.Errorf("%s: %d %s", target, status, text)
		}
	}
	if status, text, h := w.call("POST", "/providers/mine/v2/models", "{}"); status != 405 || h.Get("Allow") != "GET" {
		t.Errorf("%d %s %v", status, text, h)
	}
	if status, text, _ := w.call("POST", "/providers/mine/v2/a/chat/completions", `{"previous_response_id":"r"}`); status != 400 {
		t.Errorf("a stored answer: %d %s", status, text)
	}
	if status, _, _ := w.call("POST", toClaude, `{"model":"m"}`, "X-Api-Key", dummy); status != 200 {
		t.Fatal(status)
	}
	if r := <-w.seen; r.Header.Get("Authorization") != "Bearer "+secret || r.Header.Get("X-Api-Key") != "" {
		t.Errorf("a token reached the service in %v", r.Header)
	}
}

func TestOnlyTheTablesCallsPass(t *testing.T) {
	w := newWorld(t, ok)
	for _, target := range []string{
		"GET /anthropic/v1/files", "GET /anthropic/v1/messages", "POST /anthropic/v1/messages/batches", "DELETE /openai/v1/responses/resp_1",
		"GET /openai/v1/responses/resp_1", "GET /openai/v1/files", "POST /openai/v1/files", "POST /openai/v1/vector_stores", "GET /openai/v1/models/../files",
		"POST /anthropic/v1/messages/%2e%2e/files", "POST /anthropic/v1/messages%2fbatches", "POST /anthropic//v1/messages", "POST /anthropic/v1/messages/",
		"POST /google/v1beta/models/../files:generateContent", "POST /google/v1beta/tunedModels/x:generateContent", "GET /google/v1beta/cachedContents",
		"POST /google/upload/v1beta/files", "POST /google/v1beta/models/a%2fb:generateContent", "GET /", "GET /openai/models", "OPTIONS /anthropic/v1/messages",
		"PUT /openai/v1/responses", "TRACE /openai/v1/responses",
		"POST http://api.anthropic.com/anthropic/v1/messages", "CONNECT api.anthropic.com:443",
	} {
		c, err := net.Dial("unix", w.socket)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", target)
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("%s: %v", target, err)
		}
		if !slices.Contains([]int{400, 403, 405, 421}, res.StatusCode) {
			t.Errorf("%s: %d, want a refusal", target, res.StatusCode)
		}
		c.Close()
	}
	if len(w.seen) > 0 {
		t.Errorf("the provider got %s", (<-w.seen).URL)
	}
	for _, target := range []string{"/anthropic/v1/models", "/openai/v1/models", "/google/v1beta/models"} {
		if status, text, _ := w.call("GET", target, ""); status != 200 {
			t.Errorf("%s: %d %s", target, status, text)
		}
	}
}

// TestGroupWithAKeyOfItsOwnUsesWhatTheServiceStores, and still nothing that it runs or fetches.
func TestGroupWithAKeyOfItsOwnUsesWhatTheServiceStores(t *testing.T) {
	w := newWorld(t, ok)
	calls := []struct{ method, target, body, want string }{
		{"GET", "/openai/v1/files?limit=5&key=x&after=../x", "", "/v1/files?limit=5"}, {"GET", "/openai/v1/files/file-1/content", "", "/v1/files/file-1/content"},
		{"DELETE", "/anthropic/v1/files/file_1", "", "/v1/files/file_1"}, {"POST", "/anthropic/v1/files", "--b\r\nno JSON", "/v1/files"},
		{"GET", "/openai/v1/responses/resp_1", "", "/v1/responses/resp_1"}, {"DELETE", "/openai/v1/responses/resp_1", "", "/v1/responses/resp_1"},
		{"POST", "/openai/v1/responses", `{"previous_response_id":"r","store":true}`, "/v1/responses"},
		{"POST", "/openai/v1/responses", `{"input":[{"type":"item_reference","id":"i"},{"content":[{"type":"input_file","file_id":"f"}]}]}`, "/v1/responses"},
		{"POST", "/anthropic/v1/messages", `{"container":"c","messages":[{"content":[{"source":{"type":"file","file_id":"f"}}]}]}`, "/v1/messages"},
	}
	for _, own := range []bool{false, true} {
		w.settings.Own = own
		for _, c := range calls {
			status, text, _ := w.call(c.method, c.target, c.body)
			if own != (status == 200) {
				t.Errorf("own %v, %s %s: %d %s", own, c.method, c.target, status, text)
			}
			if own && status == 200 {
				if r := <-w.seen; r.URL.String() != c.want || c.body != "" && strings.Contains(c.body, "store") && !strings.Contains(r.Header.Get("X-Body"), `"store":true`) {
					t.Errorf("%s reached the service as %s with %s", c.target, r.URL, r.Header.Get("X-Body"))
				}
			}
		}
	}
	for _, c := range []struct{ method, target, body string }{
		{"POST", "/openai/v1/responses", `{"background":true}`}, {"POST", "/openai/v1/responses", `{"input":[{"content":[{"type":"input_file","file_url":"https://x"}]}]}`},
		{"POST", "/openai/v1/responses", `{"tools":[{"type":"file_search"}]}`}, {"POST", "/anthropic/v1/messages", `{"mcp_servers":[{}]}`},
		{"POST", "/anthropic/v1/messages/batches", "{}"}, {"GET", "/openai/v1/files/../models", ""}, {"GET", "/openai/v1/files/a%2f..", ""}, {"GET", "/openai/v1/vector_stores", ""},
	} {
		if status, text, _ := w.call(c.method, c.target, c.body); status != 400 && status != 403 {
			t.Errorf("%s %s %s: %d %s", c.method, c.target, c.body, status, text)
		}
	}
}

func TestSmuggledSecondRequestIsNone(t *testing.T) {
	w := newWorld(t, ok)
	for _, head := range []string{
		"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "Content-Length: 2\r\nContent-Length: 40\r\n",
		"Transfer-Encoding: xchunked\r\n", "Upgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 2\r\n",
	} {
		c, err := net.Dial("unix", w.socket)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "POST /anthropic/v1/messages HTTP/1.1\r\nHost: localhost\r\n%s\r\n{}\r\n0\r\n\r\nGET /anthropic/v1/models HTTP/1.1\r\nHost: x\r\n\r\n", head)
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || res.StatusCode < 400 {
			t.Errorf("%q: %v, %v", head, res, err)
		}
		c.Close()
	}
	for len(w.seen) > 0 {
		if r := <-w.seen; r.Method == "POST" {
			t.Errorf("the provider got %s with %q", r.URL, r.Header.Get("X-Body"))
		}
	}
}

func TestBodiesThatUseWhatTheServiceStoresOrRunsAreRefused(t *testing.T) {
	w := newWorld(t, ok)
	bodies := map[string][]string{
		"/anthropic/v1/messages": {
			`{"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}]}`, `{"tools":[{"type":"code_execution_20250825"}]}`, `{"mcp_servers":[{"url":"https://x"}]}`,
			`{"container":"c1"}`, `{"messages":[{"content":[{"type":"document","source":{"type":"file","file_id":"f"}}]}]}`,
			`{"messages":[{"content":[{"type":"image","source":{"type":"url","url":"http://169.254.169.254/"}}]}]}`, `{"Tools":[]}`, `{"tools":{}}`, `{"tools":[7]}`, `{"tools":[{"type":7}]}`,
			`[]`, `null`, ``, `{}{}`, `{"a":`,
		},
		"/openai/v1/responses": {
			`{"previous_response_id":"r"}`, `{"conversation":"c"}`, `{"background":true}`, `{"prompt":{"id":"p"}}`, `{"tools":[{"type":"web_search"}]}`,
			`{"tools":[{"type":"mcp","server_url":"https://x"}]}`, `{"tools":[{"type":"code_interpreter"}]}`, `{"tools":[{"type":"namespace","tools":[{"type":"file_search"}]}]}`,
			`{"input":[{"type":"tool_search_output","tools":[{"type":"mcp","server_url":"https://x"}]}]}`,
			`{"input":[{"type":"item_reference","id":"i"}]}`, `{"input":[{"content":[{"type":"input_file","file_id":"f"}]}]}`, `{"Store":true}`,
			`{"input":[{"content":[{"type":"input_image","image_url":"https://x/"}]}]}`,
		},
		"/openai/v1/chat/completions": {`{"web_search_options":{}}`, `{"messages":[{"content":[{"type":"image_url","image_url":{"url":"https://x/"}}]}]}`},
		"/google/v1beta/models/g:generateContent": {
			`{"tools":[{"googleSearch":{}}]}`, `{"tools":[{"functionDeclarations":[],"codeExecution":{}}]}`, `{"cachedContent":"cachedContents/1"}`,
			`{"contents":[{"parts":[{"fileData":{"fileUri":"u"}}]}]}`, `{"contents":[{"parts":[{"file_data":{"file_uri":"u"}}]}]}`,
		},
	}
	for target, all := range bodies {
		for _, body := range all {
			if status, text, _ := w.call("POST", target, body); status != 400 || !json.Valid([]byte(text)) || !strings.Contains(text, "Longshore: ") {
				t.Errorf("%s %s: %d %s", target, body, status, text)
			}
		}
	}
	if len(w.seen) > 0 {
		t.Errorf("the provider got %q", (<-w.seen).Header.Get("X-Body"))
	}
	w.settings.Tools = true
	for target, body := range map[string]string{
		"/openai/v1/responses": `{"tools":[{"type":"web_search"}]}`, "/anthropic/v1/messages": `{"mcp_servers":[{"type":"url","name":"x","url":"https://x"}]}`,
		"/google/v1beta/models/g:generateContent": `{"tools":[{"googleSearch":{}}]}`,
	} {
		if status, text, _ := w.call("POST", target, body); status != 200 {
			t.Errorf("%s: an allowed tool: %d %s", target, status, text)
			continue
		}
		<-w.seen
	}
}

func TestBodyReachesTheProviderAsItWasChecked(t *testing.T) {
	w := newWorld(t, ok)
	for _, one := range []struct{ target, body, want string }{
		{"/openai/v1/responses", `{"store":true,"input":"<a> & 1","n":12345678901234567890,"store":true}`, `{"input":"<a> & 1","n":12345678901234567890,"store":false}`},
		{"/openai/v1/responses/input_tokens", `{"input":"a"}`, `{"input":"a"}`},
		{"/openai/v1/chat/completions", `{"tools":[{"type":"web_search"}],"tools":[{"type":"function","function":{"parameters":{"file_id":{"type":"string"}}}}]}`,
			`{"store":false,"tools":[{"function":{"parameters":{"file_id":{"type":"string"}}},"type":"function"}]}`},
		{"/anthropic/v1/messages", `{"messages":[{"content":[{"type":"tool_use","input":{"file_id":"mine"}}]}]}`, `{"messages":[{"content":[{"input":{"file_id":"mine"},"type":"tool_use"}]}]}`},
	} {
		status, text, _ := w.call("POST", one.target, one.body)
		if status != 200 {
			t.Fatalf("%s: %d %s", one.body, status, text)
		}
		if got := (<-w.seen).Header.Get("X-Body"); got != one.want {
			t.Errorf("the provider got %s, want %s", got, one.want)
		}
	}
}

// Found in review: each level of such groups was read as often as it was deep, 17 s for a
// body of 1.3 MB.
func TestGroupsOfToolsInGroupsAreRefused(t *testing.T) {
	w := newWorld(t, ok)
	for depth, want := range map[int]int{1: 200, 2: 400, 4000: 400} {
		body := `{"tools":` + strings.Repeat(`[{"type":"namespace","tools":`, depth) + `[{"type":"function"}]` + strings.Repeat("}]", depth) + "}"
		if status, text, _ := w.call("POST", toResponse, body); status != want {
			t.Errorf("%d deep: %d %s", depth, status, text)
		}
	}
}

// Found in review: 32 MiB of small values became half a gigabyte of the host's memory.
func TestBodyOfManySmallValuesIsRefused(t *testing.T) {
	w := newWorld(t, ok)
	if status, text, _ := w.call("POST", "/anthropic/v1/messages", `{"a":[`+strings.Repeat("1,", maxMarks)+`1]}`); status != 400 || !strings.Contains(text, "too many values") {
		t.Errorf("%d %s", status, text)
	}
	if status, text, _ := w.call("POST", "/anthropic/v1/messages", `{"system":"\"`+strings.Repeat("1,", maxMarks)+`1"}`); status != 200 {
		t.Errorf("commas in a string: %d %s", status, text)
	}
}

func TestBodyThatIsTooLargeOrPackedIsRefused(t *testing.T) {
	w := newWorld(t, ok)
	if status, _, _ := w.call("POST", "/anthropic/v1/messages", `{"a":"`+strings.Repeat("x", maxBody)+`"}`); status != 413 {
		t.Errorf("32 MiB and more: %d", status)
	}
	if status, _, _ := w.call("POST", "/anthropic/v1/messages", "{}", "Content-Encoding", "gzip"); status != 415 {
		t.Errorf("gzip: %d", status)
	}
}

func TestAnswerHasNoHeaderBeyondTheList(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		for name, values := range r.Header { // a service that echoes
			if name != "Content-Length" && name != "X-Body" {
				w.Header()[name] = values
			}
		}
		w.Header().Set("Request-Id", r.Header.Get("X-Api-Key"))
		w.Header().Set("Anthropic-Organization-Id", "org")
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(429)
		fmt.Fprintf(w, `{"error":"slow down, %s"}`, r.Header.Get("X-Api-Key"))
	})
	status, text, header := w.call("POST", "/anthropic/v1/messages", "{}")
	if status != 429 || header.Get("Retry-After") != "7" || text != `{"error":"slow down, [key]"}` {
		t.Errorf("%d %s %v", status, text, header)
	}
	if all := fmt.Sprint(header); strings.Contains(all, secret) || strings.Contains(all, "org") {
		t.Errorf("the assistant sees %s", all)
	}
	if len(w.seen) != 1 {
		t.Errorf("the call was made %d times", len(w.seen))
	}
}

// TestKeyThatAServiceRepeatsDoesNotPass, however the answer is cut into pieces.
func TestKeyThatAServiceRepeatsDoesNotPass(t *testing.T) {
	for _, size := range []int{1, 3, 7, 1000} {
		w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
			for text := "you sent sk-re, sk-real-0" + r.Header.Get("X-Api-Key") + r.Header.Get("X-Api-Key") + " and sk-real-"; text != ""; text = text[min(size, len(text)):] {
				io.WriteString(rw, text[:min(size, len(text))])
				rw.(http.Flusher).Flush()
			}
		})
		if _, text, _ := w.call("POST", toClaude, "{}"); text != "you sent sk-re, sk-real-0[key][key] and sk-real-" {
			t.Errorf("in pieces of %d: %q", size, text)
		}
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", 307) })
	status, _, header := w.call("POST", "/anthropic/v1/messages", "{}")
	if status != 502 || header.Get("Location") != "" || len(w.seen) != 1 {
		t.Errorf("%d %v after %d calls", status, header, len(w.seen))
	}
}

func TestAnswerIsStreamedAndBreaksOffAsTheProviders(t *testing.T) {
	more := make(chan bool)
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "data: one\n\n")
		w.(http.Flusher).Flush()
		if <-more {
			io.WriteString(w, "data: two\n\n")
			return
		}
		panic(http.ErrAbortHandler)
	})
	for _, whole := range []bool{true, false} {
		res, err := w.client.Post("http://localhost/anthropic/v1/messages", "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 11)
		if _, err := io.ReadFull(res.Body, buf); err != nil || string(buf) != "data: one\n\n" {
			t.Fatalf("%q, %v", buf, err)
		}
		more <- whole
		rest, err := io.ReadAll(res.Body)
		if whole != (err == nil) || whole && string(rest) != "data: two\n\n" {
			t.Errorf("whole %v: %q, %v", whole, rest, err)
		}
		res.Body.Close()
	}
}

// TestFifthCallWaits has calls stall: a fifth reaches the provider only when one
// has ended, here as its client went away.
func TestFifthCallWaits(t *testing.T) {
	var running atomic.Int32
	w := newWorld(t, func(_ http.ResponseWriter, r *http.Request) {
		if n := running.Add(1); n > maxCalls {
			t.Errorf("%d calls at once", n)
		}
		<-r.Context().Done()
		running.Add(-1)
	})
	var stop []net.Conn
	for range 12 {
		c, err := net.Dial("unix", w.socket)
		if err != nil {
			t.Fatal(err)
		}
		stop = append(stop, c)
		fmt.Fprint(c, "POST /anthropic/v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
		if len(stop) <= maxCalls {
			<-w.seen
		}
	}
	p := w.proxy()
	for range maxCalls {
		p.enter(t.Context())
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if p.enter(gone) {
		t.Error("a fifth call has a place")
	}
	for _, c := range stop {
		c.Close()
	}
}

func TestUpstreamIsHTTPSOrLoopback(t *testing.T) {
	for address, good := range map[string]bool{
		"https://api.anthropic.com": true, "https://models.example/v1": true, "http://127.0.0.1:80": true, "http://[::1]:80/v1": true,
		"http://api.anthropic.com": false, "http://localhost:80": false, "http://127.0.0.1.example": false, "https://": false, "api.anthropic.com": false,
		"https://user:pass@x": false, "https://x/?key=1": false, "https://x/#a": false, "ftp://127.0.0.1": false, "https:x": false, "https://x/a%2fb": false,
	} {
		if _, err := ParseURL(address); (err == nil) != good {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestGroupWithoutKeyIsRefused(t *testing.T) {
	w := newWorld(t, ok)
	w.settings = Settings{}
	if status, text, _ := w.call("POST", "/openai/v1/responses", "{}"); status != 403 || !strings.Contains(text, "no key") {
		t.Errorf("%d %s", status, text)
	}
}

func FuzzBody(f *testing.F) {
	f.Add(`{"tools":[{"type":"web_search"}],"store":true}`, byte(1))
	f.Add(`{"messages":[{"content":[{"source":{"type":"url","url":"x"}}]}]}`, byte(0))
	f.Add(`{"contents":[{"parts":[{"fileData":{}}]}],"tools":[{"googleSearch":{}}]}`, byte(2))
	f.Fuzz(func(t *testing.T, body string, which byte) {
		c := call{form: form(which % 3), path: []string{"/v1/messages", "/chat/completions", "/v1/models/g:generateContent"}[which%3], answers: true}
		anew, most, refused := check(&c, []byte(body), Settings{})
		if refused != nil {
			return
		}
		if most.Input < 1 || most.Input > int64(len(anew))+32+leastOfFile*int64(marks(anew)) || most.Output < 1 || most.Output > maxOutput { // the host adds keys of its own
			t.Errorf("%q may use %+v", body, most)
		}
		again, _, refused := check(&c, anew, Settings{})
		if refused != nil || string(again) != string(anew) {
			t.Errorf("%q passed as %q, and that as %q, %v", body, anew, again, refused)
		}
	})
}

func FuzzTarget(f *testing.F) {
	for _, target := range []string{"/anthropic/v1/messages", "/openai/v1/models?x=%zz", "/google/v1beta/models/g:countTokens", "/google/v1beta/models/..:countTokens"} {
		f.Add("POST", target)
	}
	u, _ := url.Parse("https://provider.example/base")
	var set Settings
	for _, p := range Known() {
		set.Upstreams = append(set.Upstreams, Upstream{p, u, "k"})
	}
	f.Fuzz(func(t *testing.T, method, target string) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n")))
		if err != nil {
			return
		}
		c, refused := match(httptest.NewRecorder(), r, set)
		if refused == nil && (strings.ContainsAny(c.path, "%\\?# ") || strings.Contains(c.path, "//") || strings.Contains(c.path, "/..") || !strings.HasPrefix(c.path, "/")) {
			t.Errorf("%q passes as %q", target, c.path)
		}
	})
}

// TestCallsWithoutThePassAreRefused in the provider's own words, whichever header it is
// that the CLI sends its key in.
func TestCallsWithoutThePassAreRefused(t *testing.T) {
	w := newWorld(t, ok)
	const pass = "a-pass"
	for _, one := range []struct {
		target, header, value string
		status                int
	}{
		{"/anthropic/v1/models", "X-Api-Key", pass, 200},
		{"/openai/v1/models", "Authorization", "Bearer " + pass, 200},
		{"/google/v1beta/models", "X-Goog-Api-Key", pass, 200},
		{"/anthropic/v1/models", "X-Api-Key", "", 401},
		{"/anthropic/v1/models", "X-Api-Key", "a-pas", 401},
		{"/openai/v1/models", "Authorization", "Bearer x" + pass, 401},
		{"/openai/v1/models", "Authorization", "Bearer " + pass + "x", 401},
		{"/google/v1beta/models?key=" + pass, "Accept", "*/*", 401},
	} {
		r := httptest.NewRequest("GET", one.target, nil)
		r.Header.Set(one.header, one.value)
		answer := httptest.NewRecorder()
		w.of.Guard(pass).ServeHTTP(answer, r)
		if answer.Code != one.status {
			t.Errorf("%+v: status %d, %s", one, answer.Code, answer.Body)
		}
		if text := answer.Body.String(); one.status == 401 && (!strings.Contains(text, "another assistant") || strings.Contains(text, pass)) {
			t.Errorf("%+v: the answer is %s", one, text)
		}
	}
	for range 3 {
		if seen := <-w.seen; strings.Contains(fmt.Sprint(seen.Header), pass) {
			t.Errorf("the service got %v", seen.Header)
		}
	}
	if len(w.seen) > 0 {
		t.Error("a call without the pass reached the service")
	}
}

type accessFunc func() Settings

func (f accessFunc) ModelAccess(string) Settings { return f() }
