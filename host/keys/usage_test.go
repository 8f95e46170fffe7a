package keys

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The services' own ways to report, as they document them.
const (
	claudeJSON   = `{"type":"message","model":"c","content":[{"type":"text","text":"{\"usage\":{\"input_tokens\":999}}"}],"usage":{"input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":30,"output_tokens":40,"server_tool_use":null}}`
	claudeBegins = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10,\"cache_creation_input_tokens\":20,\"cache_read_input_tokens\":30,\"output_tokens\":1}}}\n\n" +
		": a comment\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"\\\"usage\\\"\"},\"usage\":{\"output_tokens\":7777}}\n\n"
	claudeEnds = "event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":40}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

	chatJSON   = `{"object":"chat.completion","usage":{"prompt_tokens":50,"completion_tokens":40,"total_tokens":90,"prompt_tokens_details":{"cached_tokens":30}}}`
	chatStream = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":null}\r\n\r\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":50,\"completion_tokens\":40,\"prompt_tokens_details\":{\"cached_tokens\":30}}}\r\n\r\ndata: [DONE]\r\n\r\n"

	responseJSON   = `{"object":"response","usage":{"input_tokens":50,"input_tokens_details":{"cached_tokens":30},"output_tokens":40}}`
	responseStream = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"usage\":null}}\n\nevent: response.completed\ndata: {\"type\":\"response.completed\",\ndata: \"response\":{\"usage\":{\"input_tokens\":50,\"input_tokens_details\":{\"cached_tokens\":30},\"output_tokens\":40}}}\n\n"

	geminiOne    = `{"candidates":[{"content":{}}],"usageMetadata":{"promptTokenCount":50,"cachedContentTokenCount":30,"candidatesTokenCount":2}}`
	geminiLast   = `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":50,"cachedContentTokenCount":30,"candidatesTokenCount":25,"thoughtsTokenCount":15,"totalTokenCount":90}}`
	geminiStream = "data: " + geminiOne + "\n\ndata: " + geminiLast + "\n\n"
)

const (
	toClaude   = "/anthropic/v1/messages"
	toChat     = "/openai/v1/chat/completions"
	toResponse = "/openai/v1/responses"
	toGemini   = "/google/v1beta/models/g:generateContent"
)

// TestTokensAreThoseThatTheServiceReports has each service answer in each of its ways.
func TestTokensAreThoseThatTheServiceReports(t *testing.T) {
	anthropics, others := Usage{10, 30, 20, 40}, Usage{20, 30, 0, 40}
	for _, one := range []struct {
		target, kind, text string
		want               Usage
	}{
		{toClaude, "application/json", claudeJSON, anthropics},
		{toClaude, "text/event-stream; charset=utf-8", claudeBegins + claudeEnds, anthropics},
		{toChat, "application/json", chatJSON, others},
		{toChat, "text/event-stream", chatStream, others},
		{toResponse, "application/json", responseJSON, others},
		{toResponse, "text/event-stream", responseStream, others},
		{toGemini, "application/json", geminiLast, others},
		{toGemini, "text/event-stream", geminiStream, others},
		{toGemini, "application/json", "[" + geminiOne + ",\n" + geminiLast + "]", others},
	} {
		w := newWorld(t, func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", one.kind)
			for _, b := range []byte(one.text) { // whatever the pieces are
				rw.Write([]byte{b})
				if b == '\r' || b == '"' {
					rw.(http.Flusher).Flush()
				}
			}
		})
		body := `{"model":"m","stream":true}`
		if one.target == toGemini { // which streams by its path
			body = `{"contents":[]}`
		}
		if status, text, _ := w.call("POST", one.target, body); status != 200 || text != one.text {
			t.Fatalf("%s: %d, %q", one.target, status, text)
		}
		if got := w.used(1).Usage; got != one.want {
			t.Errorf("%s, %s: %s", one.target, one.kind, cmp.Diff(one.want, got))
		}
	}
}

// used waits until the calls under way are settled, and wants that many.
func (w *world) used(calls int64) Used {
	w.t.Helper()
	for range maxCalls {
		w.of.calls <- struct{}{}
	}
	for range maxCalls {
		<-w.of.calls
	}
	u := w.ledger.Used("family")
	if u.Calls != calls {
		w.t.Errorf("%d calls are settled, want %d", u.Calls, calls)
	}
	return u
}

// TestChatCompletionsAreAskedForWhatTheyUse: without it, a stream of them reports nothing.
func TestChatCompletionsAreAskedForWhatTheyUse(t *testing.T) {
	w := newWorld(t, ok)
	for body, want := range map[string]string{
		`{"stream":true}`: `{"store":false,"stream":true,"stream_options":{"include_usage":true}}`,
		`{"stream":true,"stream_options":{"include_usage":false,"x":1}}`: `{"store":false,"stream":true,"stream_options":{"include_usage":true,"x":1}}`,
		`{"stream":false}`: `{"store":false,"stream":false}`,
		`{"stream":true,"stream_options":{"continuous_usage_stats":true}}`: `{"store":false,"stream":true,"stream_options":{"include_usage":true}}`, // by which a cut stream passed for whole
	} {
		w.call("POST", toChat, body)
		if got := (<-w.seen).Header.Get("X-Body"); got != want {
			t.Errorf("%s reached the service as %s", body, got)
		}
	}
	if status, _, _ := w.call("POST", toChat, `{"stream":true,"stream_options":7}`); status != 400 {
		t.Errorf("a number for options: %d", status)
	}
}

// TestAnswerThatIsCutCountsToo: what was reported counts, the output by the length of the
// stream. A call whose answer reports nothing counts as reserved.
func TestAnswerThatIsCutCountsToo(t *testing.T) {
	for _, one := range []struct {
		name, text    string
		input, output func(int64) bool
	}{
		{"after the beginning", claudeBegins + strings.Repeat("event: ping\ndata: {}\n\n", 100), is(10), func(n int64) bool { return n > 200 && n <= 500 }},
		{"after the last report", claudeBegins + claudeEnds[:100], is(10), is(40)},
		{"before any report", "event: ping\n", func(n int64) bool { return n > 0 && n < 100 }, is(500)},
	} {
		w := newWorld(t, func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(rw, one.text)
			rw.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		})
		res, err := w.client.Post("http://localhost"+toClaude, "application/json", strings.NewReader(`{"model":"m","max_tokens":500}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(res.Body); err == nil {
			t.Error("the assistant takes the answer for whole")
		}
		res.Body.Close()
		if u := w.used(1); !one.input(u.Input) || !one.output(u.Output) {
			t.Errorf("cut %s: %+v", one.name, u)
		}
	}
}

// TestACutAnswerThatThoughtCountedTooLittle: what a model thinks is billed, and is not in the
// stream until its last report.
func TestACutAnswerThatThoughtCountedTooLittle(t *testing.T) {
	for body, output := range map[string]func(int64) bool{
		`{"max_tokens":500,"thinking":{"type":"enabled","budget_tokens":400}}`: is(500),
		`{"max_tokens":500,"thinking":{"type":"adaptive"}}`:                    is(500),
		`{"max_tokens":500,"thinking":true}`:                                   is(500),
		`{"max_tokens":500,"thinking":{"type":"disabled"}}`:                    func(n int64) bool { return n < 100 },
		`{"max_tokens":500,"thinking":null}`:                                   func(n int64) bool { return n < 100 },
	} {
		for _, whole := range []bool{false, true} {
			w := newWorld(t, func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(rw, claudeBegins)
				rw.(http.Flusher).Flush()
				if !whole {
					panic(http.ErrAbortHandler)
				}
				io.WriteString(rw, claudeEnds)
			})
			res, err := w.client.Post("http://localhost"+toClaude, "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
			if u := w.used(1); u.Input != 10 || whole && u.Output != 40 || !whole && !output(u.Output) {
				t.Errorf("%s, whole %t: %+v", body, whole, u)
			}
		}
	}
}

func is(want int64) func(int64) bool { return func(n int64) bool { return n == want } }

// TestCallThatTheServiceRefusesIsFree: a 429, a 500 and a service that is away cost nothing.
func TestCallThatTheServiceRefusesIsFree(t *testing.T) {
	status := 429
	w := newWorld(t, func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(status)
		io.WriteString(rw, claudeJSON)
	})
	for _, status = range []int{429, 500, 302} {
		w.call("POST", toClaude, `{"model":"m"}`)
	}
	gone := w.settings.Upstreams[0]
	away := *gone.URL
	away.Host = "127.0.0.1:1"
	w.settings.Upstreams = []Upstream{{gone.Provider, &away, secret}}
	if got, _, _ := w.call("POST", toClaude, `{"model":"m"}`); got != 502 {
		t.Errorf("an address at which nobody is: %d", got)
	}
	if u := w.used(4); u.Total() != 0 {
		t.Errorf("%+v", u)
	}
}

func TestImpossibleReportSaysNothing(t *testing.T) {
	for _, text := range []string{
		`{"type":"message","usage":{"input_tokens":-5,"output_tokens":1}}`, `{"type":"message","usage":{"input_tokens":1e30}}`,
		`{"type":"message","usage":{"input_tokens":"5"}}`, `{"type":"message","usage":[]}`, `{"type":"message"}`, `{"type":"message","usage":{"output_tokens":1073741825}}`, `x`, ``,
	} {
		m := newMeter(anthropic, "application/json")
		m.read([]byte(text))
		m.close()
		if most := (Usage{Input: 3, Output: 4}); m.used(most) != most {
			t.Errorf("%s counts as %+v", text, m.usage)
		}
	}
	for _, text := range []string{`{"usage":{"prompt_tokens":5,"prompt_tokens_details":{"cached_tokens":6}}}`, `{"usage":{"total_tokens":5}}`} {
		if m := newMeter(openAI, ""); true {
			m.read([]byte(text))
			if m.close(); m.seen {
				t.Errorf("%s counts as %+v", text, m.usage)
			}
		}
	}
}

// TestEventThatIsTooLongIsNotKept: the host holds a bounded part of an answer.
func TestEventThatIsTooLongIsNotKept(t *testing.T) {
	m := newMeter(anthropic, "text/event-stream")
	part := []byte(strings.Repeat("x", 1<<20))
	m.read([]byte("data: "))
	for range 3 * maxReport >> 20 {
		if m.read(part); len(m.line) > maxReport {
			t.Fatalf("%d bytes of a line are kept", len(m.line))
		}
	}
	m.read([]byte("\n\n" + claudeBegins + claudeEnds))
	if want := (Usage{10, 30, 20, 40}); m.used(Usage{}) != want {
		t.Errorf("after it: %+v", m.usage)
	}
}

// FuzzReport: whatever a service sends, what counts is bounded, and the same however the
// answer is cut into pieces.
func FuzzReport(f *testing.F) {
	for i, text := range []string{claudeBegins + claudeEnds, chatStream, geminiStream, claudeJSON, responseJSON, "[" + geminiOne + "]", responseStream} {
		f.Add([]byte(text), byte(i), byte(i+3))
	}
	f.Fuzz(func(t *testing.T, text []byte, which, size byte) {
		kind := []string{"text/event-stream", "application/json"}[which/3%2]
		whole, pieces := newMeter(form(which%3), kind), newMeter(form(which%3), kind)
		whole.read(text)
		whole.close()
		for rest := text; len(rest) > 0; {
			n := min(int(size)+1, len(rest))
			pieces.read(rest[:n])
			rest = rest[n:]
		}
		pieces.close()
		most := Usage{Input: 7, Output: 9}
		if a, b := whole.used(most), pieces.used(most); a != b {
			t.Errorf("%+v in one piece, %+v in several", a, b)
		}
		if u := whole.used(most); min(u.Input, u.Cached, u.Written, u.Output) < 0 || u.Total() > 4*maxTokens {
			t.Errorf("%+v", u)
		}
	})
}

func TestCallIsEstimatedByItsTextAndLimits(t *testing.T) {
	for body, want := range map[string]Usage{
		`{"max_tokens":100,"a":"` + strings.Repeat("word ", 600) + `"}`:  {Input: 1007, Output: 100},
		`{"max_completion_tokens":5,"n":3}`:                              {Input: 11, Output: 15},
		`{"generationConfig":{"maxOutputTokens":70,"candidateCount":2}}`: {Input: 19, Output: 140},
		`{"max_tokens":-4}`:             {Input: 6, Output: usualOutput},
		`{"max_tokens":99999999999999}`: {Input: 6, Output: maxOutput},
		`{"max_output_tokens":9,"data":"` + strings.Repeat("QUJD", 1600) + `"}`: {Input: 6410, Output: 9},
	} {
		if got := estimated(t, openAI, body); got != want {
			t.Errorf("%.60s: %s", body, cmp.Diff(want, got))
		}
	}
}

func estimated(t *testing.T, f form, body string) Usage {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	var doc map[string]any
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	return of(f, false).estimate(doc, f)
}

func TestPriceIsThatOfTheLongestName(t *testing.T) {
	p := Prices{"*": {Input: 1, Output: 2}, "claude-*": {Input: 3, Output: 15, Cached: 0.3, Written: 3.75}, "claude-x": {Input: 5, Output: 5}}
	for model, want := range map[string]Nanos{
		"claude-sonnet": 3e9 + 15e9 + 0.3e9 + 3.75e9, "claude-x": 20e9, "gpt": 5e9,
	} {
		price, ok := p.of(model)
		if got := price.cost(Usage{1e6, 1e6, 1e6, 1e6}); !ok || got != want {
			t.Errorf("%s: %v, want %v", model, got.USD(), want.USD())
		}
	}
	if _, ok := (Prices{"a*": {}}).of("b"); ok {
		t.Error("b has the price of a*")
	}
	if got := fmt.Sprint(NanosOf(0.1).USD()); got != "0.1" {
		t.Error(got)
	}
}

// TestAnswerThatStandsStillIsCut after ten minutes, and what it reported counts.
func TestAnswerThatStandsStillIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, service := io.Pipe()
		begin, m := time.Now(), newMeter(anthropic, "text/event-stream")
		rec := httptest.NewRecorder()
		go io.WriteString(service, claudeBegins)
		func() {
			defer func() {
				if got := recover(); got != http.ErrAbortHandler {
					t.Errorf("it ended with %v", got)
				}
			}()
			stream(rec, from, func() { service.CloseWithError(io.ErrUnexpectedEOF) }, m, newRedactor(secret))
		}()
		if took := time.Since(begin); took != silence || rec.Body.String() != claudeBegins {
			t.Errorf("cut after %s and %q", took, rec.Body)
		}
		if u := m.used(Usage{Output: 500}); u.Input != 10 || u.Output < 30 {
			t.Errorf("%+v", u)
		}
	})
}
