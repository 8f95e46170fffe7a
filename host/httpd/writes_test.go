package httpd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener of one connection in memory, so that time can be synctest's.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p pipes) Close() error   { close(p.done); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// serveOne serves one connection until the test ends, and returns the client's end of it.
func serveOne(t *testing.T, h http.HandlerFunc) net.Conn {
	return serveRaw(t, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", h)
}

// serveRaw is serveOne of a client that sends no more than that.
func serveRaw(t *testing.T, sent string, h http.HandlerFunc) net.Conn {
	ctx, cancel := context.WithCancel(t.Context())
	here, there := net.Pipe()
	l := pipes{make(chan net.Conn, 1), make(chan struct{})}
	l.conns <- there
	served := make(chan error, 1)
	go func() { served <- (&Server{Handler: h, Grace: 5 * time.Second}).Serve(ctx, l) }()
	t.Cleanup(func() {
		here.Close()
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	go func() { _, _ = io.WriteString(here, sent) }()
	return here
}

// crawl reads so many bytes each time, and then none for a while, until it is ended.
func crawl(conn net.Conn, bytes int64, pause time.Duration) (end func()) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			if _, err := io.CopyN(io.Discard, conn, bytes); err != nil {
				return
			}
			time.Sleep(pause) // of synctest
		}
	}()
	return func() {
		conn.Close()
		<-over
	}
}

// A browser that asked and never read its answer held a handler, its connection and a
// goroutine for as long as it liked.
func TestAClientThatNeverReadHeldAHandlerForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		start := time.Now()
		serveOne(t, func(rw http.ResponseWriter, _ *http.Request) {
			_, err := rw.Write(make([]byte, 1<<20))
			ended <- err
		})
		err := <-ended
		if took := time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || took > 3*time.Minute {
			t.Errorf("the handler ended after %v: %v", took, err)
		}
	})
}

// A reader of a few bytes a second is no better: each of its reads must not begin the
// time anew.
func TestAReaderThatCrawlsIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		start := time.Now()
		conn := serveOne(t, func(rw http.ResponseWriter, _ *http.Request) {
			for range 1000 {
				if _, err := rw.Write(make([]byte, 8<<10)); err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		})
		end := crawl(conn, 1<<10, time.Second)
		defer end()
		err := <-ended
		if took := time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || took > 3*time.Minute {
			t.Errorf("the handler ended after %v: %v", took, err)
		}
	})
}

func TestASlowDownloadAndALongPollGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 16 << 20 // half an hour at 9 KiB/s
		ended := make(chan error, 1)
		conn := serveOne(t, func(rw http.ResponseWriter, _ *http.Request) {
			time.Sleep(2 * time.Hour) // of synctest: a poll that waits
			for range size / (64 << 10) {
				if _, err := rw.Write(make([]byte, 64<<10)); err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		})
		end := crawl(conn, 9<<10, time.Second)
		defer end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A client that never ends its header is cut off in seconds.
func TestAHeaderThatTricklesEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		conn := serveOne(t, func(http.ResponseWriter, *http.Request) {})
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		var trickle sync.WaitGroup
		defer trickle.Wait()
		trickle.Go(func() {
			for _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "); err == nil; _, err = io.WriteString(conn, "x") {
				time.Sleep(time.Second) // of synctest
			}
		})
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("the connection ended after %v", took)
		}
	})
}

// A handler's own deadline counts if it is earlier, and ends with its request.
func TestTheDeadlineOfOneRequestCutTheNextOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := serveOne(t, func(rw http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(rw).SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = io.WriteString(rw, "in time")
		})
		in := bufio.NewReader(conn)
		for i := range 2 {
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatalf("answer %d: %v", i, err)
			}
			_, err = io.Copy(io.Discard, res.Body)
			if err != nil {
				t.Fatalf("answer %d: %v", i, err)
			}
			time.Sleep(30 * time.Second) // of synctest
			if i == 0 {
				_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			}
		}
	})
}

func TestAFileIsServedWhole(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789abcdef"), 100_000) // more than a piece, and no multiple of one
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, want, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Address{Listen: "127.0.0.1:0"}.Open()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- (&Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { http.ServeFile(rw, r, path) }), Grace: 5 * time.Second}).Serve(ctx, l)
	}()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for part, from := range map[string]int{"": 0, "bytes=7-": 7, "bytes=300000-": 300_000} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, URL(l.Addr()), nil)
		if err != nil {
			t.Fatal(err)
		}
		if part != "" {
			req.Header.Set("Range", part)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || !bytes.Equal(got, want[from:]) {
			t.Errorf("%q: %d bytes, %v", part, len(got), err)
		}
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestAnAnswerToAHugeHeaderWasCutOff: the connection was reset with the rest of the header
// unread, and the client never saw why.
func TestAnAnswerToAHugeHeaderWasCutOff(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- (&Server{Handler: http.NotFoundHandler()}).Serve(ctx, l) }()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("x", 4<<20)) // the server stops reading it
	answer, err := io.ReadAll(c)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 431 ") {
		t.Errorf("%.80q, %v", answer, err)
	}
}
