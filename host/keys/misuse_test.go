package keys

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestKeyInACutErrorDoesNotPass: an error is cut at 64 KiB, and an assistant that chose how much
// of its call a service repeats before the key got the key but for its last letter.
func TestKeyInACutErrorDoesNotPass(t *testing.T) {
	for cut := 1; cut <= len(secret); cut += 4 {
		w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
			rw.WriteHeader(400)
			io.WriteString(rw, strings.Repeat(".", maxFailure-cut)+r.Header.Get("X-Api-Key")+" and more")
		})
		status, text, _ := w.call("POST", toClaude, "{}")
		if left := strings.TrimLeft(text, "."); status != 400 || left != "" && left != "[key]" {
			t.Errorf("cut after %d letters: %d %q", cut, status, left)
		}
	}
}

// TestMostOfAKeyDoesNotPass at the end of an answer that the service cuts.
func TestMostOfAKeyDoesNotPass(t *testing.T) {
	for _, status := range []int{200, 401} {
		w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
			rw.WriteHeader(status)
			io.WriteString(rw, "you sent "+r.Header.Get("X-Api-Key")[:len(secret)-1])
		})
		if got, text, _ := w.call("POST", toClaude, "{}"); got != status || text != "you sent [key]" {
			t.Errorf("%d %q", got, text)
		}
	}
}

// TestOtherSpellingsOfWhatAServiceRunsOrFetches: of services that speak OpenAI's form, and those
// that read keys in any case.
func TestOtherSpellingsOfWhatAServiceRunsOrFetches(t *testing.T) {
	w := newWorld(t, ok)
	for _, body := range []string{
		`{"plugins":[{"id":"web"}]}`, `{"search_parameters":{"mode":"on"}}`, `{"enable_search":true}`, `{"Plugins":[{"id":"web"}]}`, `{"Web_Search_Options":{}}`,
		`{"model":"gpt-4o-search-preview"}`, `{"model":"gpt-5-Search-API"}`, `{"model":"openai/gpt-4o:online"}`, `{"model":"groq/compound-mini"}`, `{"model":"o3-deep-research"}`,
		`{"messages":[{"content":[{"type":"video_url","video_url":{"url":"https://x/"}}]}]}`, `{"messages":[{"content":[{"type":"audio_url","audio_url":"http://10.0.0.1/"}]}]}`,
		`{"messages":[{"content":[{"type":"file","file":{"file_data":"https://x/a.pdf"}}]}]}`, `{"messages":[{"content":[{"type":"file","file":{"File_ID":"f"}}]}]}`,
	} {
		if status, text, _ := w.call("POST", "/openai/v1/chat/completions", body); status != 400 || !strings.Contains(text, "Longshore: ") {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
	for _, body := range []string{`{"model":"research"}`, `{"plugins":null}`, `{"messages":[{"content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,QUJD"}}]}]}`} {
		if status, text, _ := w.call("POST", "/openai/v1/chat/completions", body); status != 200 {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
	w.settings.Tools = true
	for _, body := range []string{`{"web_search_options":{}}`, `{"model":"gpt-4o-search-preview"}`} {
		if status, text, _ := w.call("POST", "/openai/v1/chat/completions", body); status != 200 {
			t.Errorf("allowed: %s: %d %s", body, status, text)
		}
	}
}

// TestBudgetInMoneyRefusesWhatCostsMoreThanItsPrice: a faster tier costs several times as
// much, and of a list of models the service chose one without a price.
func TestBudgetInMoneyRefusesWhatCostsMoreThanItsPrice(t *testing.T) {
	w := newWorld(t, ok)
	bodies := map[string][]string{
		toClaude:   {`{"model":"m","speed":"fast"}`, `{"model":"m","inference_geo":"us"}`, `{"model":"m","Speed":"fast"}`},
		toResponse: {`{"model":"m","service_tier":"priority"}`, `{"model":"m","service_tier":7}`, `{"model":"m","models":["dear"]}`},
	}
	w.settings.Allow = []string{"models"}
	for _, limited := range []bool{false, true} {
		if limited {
			w.settings.Prices, w.settings.Budget = Prices{"m": {Input: 1, Output: 1}}, Budget{Cost: NanosOf(1000)}
		}
		for target, all := range bodies {
			for _, body := range all {
				status, text, _ := w.call("POST", target, body)
				if refused := status == 400; refused != (limited || strings.Contains(body, "Speed")) {
					t.Errorf("limited %t: %s: %d %s", limited, body, status, text)
				}
			}
		}
	}
	for _, body := range []string{`{"model":"m","service_tier":"auto"}`, `{"model":"m","service_tier":null}`, `{"model":"m","service_tier":"flex"}`} {
		if status, text, _ := w.call("POST", toResponse, body); status != 200 {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
}

// TestLimitOfAnAnswerIsReadHoweverItIsWritten: one that was no plain number reserved that of a
// call without a limit.
func TestLimitOfAnAnswerIsReadHoweverItIsWritten(t *testing.T) {
	for limit, want := range map[string]int64{"1e5": 100_000, "100000.0": 100_000, "1.5": 2, "3000000": maxOutput, "1e999": maxOutput, "-1e9": usualOutput, `"9"`: usualOutput} {
		d := json.NewDecoder(strings.NewReader(fmt.Sprintf(`{"max_tokens":%s}`, limit)))
		d.UseNumber()
		var doc map[string]any
		if err := d.Decode(&doc); err != nil {
			t.Fatal(err)
		}
		if got := of(openAI, false).estimate(doc, openAI).Output; got != want {
			t.Errorf("%s: %d, want %d", limit, got, want)
		}
	}
}

// handed is a listener whose connections are handed over one by one, as those of all groups
// over one ssh connection: one that is not accepted holds up the next, whosever it is.
type handed struct {
	conns chan net.Conn
	ended chan struct{}
}

func (h handed) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.ended:
		return nil, net.ErrClosed
	}
}

func (h handed) Close() error   { close(h.ended); return nil }
func (h handed) Addr() net.Addr { return &net.UnixAddr{} }

// dial hands a connection over and returns its other end.
func (h handed) dial() net.Conn {
	near, far := net.Pipe()
	h.conns <- far
	return near
}

// TestAContainerThatHoldsItsConnectionsHeldUpTheOthers: its next connection was not accepted until
// one of its own had ended, and over ssh the other groups' connections stood behind it. The
// server could not be closed either.
func TestAContainerThatHoldsItsConnectionsHeldUpTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, l := time.Now(), handed{make(chan net.Conn), make(chan struct{})}
		s := Serve(l, http.NotFoundHandler())
		first := l.dial()
		for range maxConns - 1 {
			defer l.dial().Close()
		}
		for range 3 {
			if _, err := l.dial().Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("one too many: %v", err)
			}
		}
		first.Close()
		synctest.Wait() // the host notices
		next := l.dial()
		fmt.Fprint(next, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if b := make([]byte, 12); true {
			if _, err := io.ReadFull(next, b); err != nil || string(b) != "HTTP/1.1 404" {
				t.Errorf("after another one has ended: %q, %v", b, err)
			}
		}
		go io.Copy(io.Discard, next)
		l.dial() // is one too many
		s.Close()
		if took := time.Since(begin); took > 0 {
			t.Errorf("the others waited for %s", took)
		}
	})
}

// TestAModelsNameOfMegabytesReachedTheLog, and had the price of a name with a star.
func TestAModelsNameOfMegabytesReachedTheLog(t *testing.T) {
	w := newWorld(t, ok)
	var lines bytes.Buffer
	w.settings.Prices, w.settings.Budget = Prices{"m*": {Input: 1, Output: 1}}, Budget{Tokens: 1}
	p := New("family", accessFunc(func() Settings { return w.settings }), w.ledger, slog.New(slog.NewTextHandler(&lines, nil)))
	call := func(target, name string) (int, string) {
		rw := httptest.NewRecorder()
		p.ServeHTTP(rw, httptest.NewRequest("POST", target, strings.NewReader(`{"model":"`+name+`"}`)))
		return rw.Code, rw.Body.String()
	}
	for _, target := range []string{toClaude, toChat, toResponse, "/anthropic/v1/messages/count_tokens"} {
		for _, size := range []int{maxModel + 1, 1 << 20} {
			if status, text := call(target, strings.Repeat("m", size)); status != 400 || !strings.Contains(text, "Longshore: the model's name has more than 200 bytes") {
				t.Errorf("%s, %d bytes: %d %s", target, size, status, text)
			}
		}
	}
	if lines.Len() > 0 {
		t.Errorf("the log has %d bytes of it", lines.Len())
	}
	if _, text := call(toClaude, strings.Repeat("m", maxModel)); !strings.Contains(text, "budget") || lines.Len() == 0 {
		t.Errorf("a name of %d bytes: %s", maxModel, text)
	}
}
