package remoteclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/internal/fstest"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/ipc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve answers a client's requests with a server that nobody here wrote.
func serve(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c, err := New(srv.URL+"/behind/a/proxy/", "lsh_t")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAnAddressIsCheckedBeforeItIsUsed(t *testing.T) {
	for address, want := range map[string]string{
		"https://host:1": "ssh -N -L", "host:8430": "http://HOST:PORT", "ftp://host": "http://HOST:PORT", "http://": "http://HOST:PORT", "http://a:b@host": "http://HOST:PORT",
		"http://host/?x": "http://HOST:PORT", "unix:run/door.sock": "absolute path", "": "http://HOST:PORT",
	} {
		if _, err := New(address, "t"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", address, err)
		}
	}
	for _, token := range []string{"", "a b", "a\r\nX: y", "ä"} {
		if _, err := New("http://host", token); err == nil || !strings.Contains(err.Error(), "longshore tokens new") || token != "" && strings.Contains(err.Error(), token) {
			t.Errorf("token %q: %v", token, err)
		}
	}
	for address, want := range map[string]string{"http://host": "host:80", "http://[::1]:8430/x/": "[::1]:8430", "unix:/run/d.sock": "/run/d.sock"} {
		if c, err := New(address, "t"); err != nil || c.address != want {
			t.Errorf("%q: %+v, %v", address, c, err)
		}
	}
}

func TestTheHostIsAskedOverASocketToo(t *testing.T) {
	path := filepath.Join(fstest.ShortTemp(t), "host.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(rw, `{"folder": %q}`, r.Host)
	})}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	c, err := New("unix:"+path, "t")
	if err != nil {
		t.Fatal(err)
	}
	if x, err := c.Context(); err != nil || x.Folder != "localhost" {
		t.Error(x, err)
	}
	srv.Close()
	<-done
}

// TestARequestIsRepeatedUnderItsKey until the host takes it: a lost answer and a busy host
// make no second delivery.
func TestARequestIsRepeatedUnderItsKey(t *testing.T) {
	var keys []string
	c := serve(t, func(rw http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		body, _ := io.ReadAll(r.Body)
		switch len(keys) {
		case 1: // the answer is lost
			panic(http.ErrAbortHandler)
		case 2:
			rw.WriteHeader(http.StatusServiceUnavailable)
		default:
			if r.URL.Path != "/behind/a/proxy/api/requests" || r.Header.Get("Authorization") != "Bearer lsh_t" || !bytes.Contains(body, []byte(`"hello"`)) {
				t.Errorf("%s %v %s", r.URL, r.Header, body)
			}
			rw.WriteHeader(http.StatusAccepted)
			fmt.Fprint(rw, `{"id":"7","status":"queued"}`)
		}
	})
	id, err := c.Enqueue(t.Context(), ipc.Request{Type: ipc.TypeMessage, Text: "hello"}, "", "")
	if id != "7" || err != nil || len(keys) != 3 || keys[0] == "" || keys[0] != keys[1] || keys[1] != keys[2] {
		t.Errorf("%q %v %q", id, err, keys)
	}
}

// TestAnUnansweredCallIsNotCalledUnsent, and one that reached nobody is.
func TestAnUnansweredCallIsNotCalledUnsent(t *testing.T) {
	c := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := c.Enqueue(ctx, ipc.Request{Type: ipc.TypeMessage, Text: "x"}, "", "")
	if r := refusal.Of(err); r == nil || r.Code != codeUnanswered || !strings.Contains(r.Hint, "before you call again") {
		t.Errorf("%+v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	nobody, _ := New("http://"+l.Addr().String(), "t")
	ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = nobody.Enqueue(ctx, ipc.Request{Type: ipc.TypeMessage, Text: "x"}, "", "")
	if r := refusal.Of(err); r == nil || r.Code != codeUnreachable || !strings.Contains(r.Message, "nothing was sent") || strings.Contains(r.Message, "127.0.0.1") {
		t.Errorf("%+v", err)
	}
}

// TestARefusalHasTheHostsWords without what could control a terminal.
func TestARefusalHasTheHostsWords(t *testing.T) {
	c := serve(t, func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusConflict)
		fmt.Fprint(rw, `{"error":{"code":"key_conflict","message":"used\u001b[31m\nbefore","hint":"take another"}}`)
	})
	_, err := c.Enqueue(t.Context(), ipc.Request{Type: ipc.TypeMessage, Text: "x"}, "", "k")
	if r := refusal.Of(err); r == nil || r.Code != "key_conflict" || strings.ContainsAny(r.Message, "\x1b\n") {
		t.Errorf("%+v", err)
	}
	if _, err := c.Enqueue(t.Context(), ipc.Request{Type: ipc.TypeMessage, Text: "x"}, "", "k\n"); refusal.Of(err) == nil || refusal.Of(err).Code != "invalid_argument" {
		t.Errorf("%+v", err)
	}
	if _, err := c.Enqueue(t.Context(), ipc.Request{Type: ipc.TypeMessage}, "", ""); refusal.Of(err) == nil || refusal.Of(err).Code != ipc.CodeMissing {
		t.Errorf("%+v", err)
	}
}

// TestAWaitTellsEachChange, over a host that goes away, and ends with the caller.
func TestAWaitTellsEachChange(t *testing.T) {
	var asked atomic.Int32
	at := time.Now().UTC()
	c := serve(t, func(rw http.ResponseWriter, r *http.Request) {
		seen := r.URL.Query().Get("seen")
		switch n := asked.Add(1); {
		case n == 1 && seen == "":
			_ = json.NewEncoder(rw).Encode(ipc.Result{ID: "7", Status: ipc.Queued, Time: at, Progress: &ipc.Progress{Sent: 1, Total: 2}})
		case n == 2:
			panic(http.ErrAbortHandler)
		case seen == at.Format(time.RFC3339Nano):
			rw.Header().Set("Transfer-Encoding", "chunked")
			_ = json.NewEncoder(rw).Encode(ipc.Result{ID: "7", Status: ipc.Sent, Time: at.Add(time.Second)})
		default:
			t.Errorf("request %d has seen %q", n, seen)
		}
	})
	var told []ipc.Status
	r, err := c.Wait(t.Context(), "7", func(r ipc.Result) { told = append(told, r.Status) })
	if err != nil || r.Status != ipc.Sent || len(told) != 2 {
		t.Errorf("%+v %v, told %q", r, err, told)
	}
	hanging := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if r, err := hanging.Wait(ctx, "7", nil); err != nil || r.ID != "7" || r.Status != ipc.Queued {
		t.Errorf("%+v %v", r, err)
	}
}

// TestAFileThatChangesUnderwayIsNotSent.
func TestAFileThatChangesUnderwayIsNotSent(t *testing.T) {
	c := serve(t, func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		rw.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprint(rw, `{"error":{"code":"wrong_sha256","message":"m","hint":"h"}}`)
	})
	_, err := c.Stage(t.Context(), "a", strings.NewReader("content"))
	if r := refusal.Of(err); r == nil || r.Code != "unreadable" {
		t.Errorf("%+v", err)
	}
}

// TestAnUploadThatTakesTooLongSaysHowFarItIs, so that the next call goes on there.
func TestAnUploadThatTakesTooLongSaysHowFarItIs(t *testing.T) {
	c := serve(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			rw.Header().Set("Upload-Offset", fmt.Sprint(100<<10))
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // a server sees the end of a connection only then
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := c.Stage(ctx, "a", bytes.NewReader(make([]byte, resumable)))
	if r := refusal.Of(err); r == nil || r.Code != "upload_unfinished" || !strings.HasPrefix(r.Message, "100 KiB of 256 KiB") || !strings.Contains(r.Hint, "same file") {
		t.Errorf("%+v", err)
	}
}

// FuzzAnswer: whatever answers, an answer is small and its status one of HTTP's, and Go's
// own reader agrees.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\n{}\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n{}", "HTTP/1.1 99 X\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := readAnswer(bytes.NewReader(b), "GET")
		if err != nil {
			return
		}
		if a.status < 200 || a.status > 999 || len(a.body) > maxAnswer {
			t.Fatalf("%q: status %d, %d bytes", b, a.status, len(a.body))
		}
		if _, err := result(a); err != nil && refusal.Of(err) == nil {
			t.Errorf("%q: %v", b, err)
		}
	})
}

func TestAnAnswerIsReadAsGoReadsIt(t *testing.T) {
	long := strings.Repeat("x", maxAnswer)
	for name, answer := range map[string]string{
		"length": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "to its end": "HTTP/1.1 200 OK\r\n\r\nhello", "chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;a\r\nlo\r\n0\r\n\r\n",
		"long": "HTTP/1.1 200 OK\r\n\r\n" + long,
	} {
		theirs, err := http.ReadResponse(bufio.NewReader(strings.NewReader(answer)), nil)
		if err != nil {
			t.Fatal(name, err)
		}
		want, _ := io.ReadAll(theirs.Body)
		if a, err := readAnswer(strings.NewReader(answer), "GET"); err != nil || a.status != 200 || !bytes.Equal(a.body, want) {
			t.Errorf("%s: %d, %d bytes, %v", name, a.status, len(a.body), err)
		}
	}
	for name, answer := range map[string]string{
		"too long": "HTTP/1.1 200 OK\r\n\r\n" + long + "x", "too long by its length": fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", maxAnswer+1), "cut": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
		"another protocol": "SSH-2.0-OpenSSH\r\n\r\n", "two lengths": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 4\r\n\r\nhello", "another coding": "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
		"a long header": "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", maxHeader) + "\r\n\r\n", "chunks too long": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffff\r\n",
	} {
		if a, err := readAnswer(strings.NewReader(answer), "GET"); err == nil {
			t.Errorf("%s: taken as %d with %d bytes", name, a.status, len(a.body))
		}
	}
	if _, err := readAnswer(strings.NewReader(""), "GET"); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// TestASignalEndsAQuestionToAHostThatHangs: the caller's context counts, not only the time for
// an answer.
func TestASignalEndsAQuestionToAHostThatHangs(t *testing.T) {
	asked, over := make(chan struct{}), make(chan struct{})
	c := serve(t, func(http.ResponseWriter, *http.Request) { close(asked); <-over })
	defer close(over)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	start := time.Now()
	if _, err := c.Chat(ctx); err == nil || time.Since(start) > stallTime/2 {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}
