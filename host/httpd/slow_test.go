package httpd

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A client that announces a body to OPTIONS * and never sends it held its connection for ever: net/http
// answers that request by itself, and no handler of ours bounds it.
func TestAnOptionsRequestWithoutItsBodyHeldAConnectionForEver(t *testing.T) {
	var held []string
	for name, sent := range map[string]string{
		"OPTIONS *":                   "OPTIONS * HTTP/1.1\r\nHost: x\r\nContent-Length: 4000\r\n\r\n",
		"OPTIONS *, in chunks":        "OPTIONS * HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
		"OPTIONS * of 1.0":            "OPTIONS * HTTP/1.0\r\nContent-Length: 4000\r\n\r\n",
		"POST":                        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4000\r\n\r\n",
		"GET with a body":             "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 4000\r\n\r\n",
		"PRI":                         "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"half a header":               "GET / HTTP/1.1\r\nHost: x\r\n",
		"100-continue":                "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4000\r\nExpect: 100-continue\r\n\r\n",
		"line breaks":                 "\r\n\r\n\r\n",
		"a request, and then none":    "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"HTTP/0.9":                    "GET /\r\n",
		"CONNECT":                     "CONNECT x:1 HTTP/1.1\r\nHost: x\r\nContent-Length: 4000\r\n\r\n",
		"upgrade":                     "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 400\r\n\r\n",
		"a trailer that does not end": "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: ",
		"a chunk that does not end":   "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4000\r\nabc",
	} {
		for _, reads := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				conn := serveRaw(t, sent, func(_ http.ResponseWriter, r *http.Request) {
					if reads {
						_, _ = io.Copy(io.Discard, r.Body)
					}
				})
				start, ended := time.Now(), make(chan struct{})
				go func() {
					defer close(ended)
					_, _ = io.Copy(io.Discard, conn)
				}()
				select {
				case <-ended:
				case <-time.After(time.Hour):
				}
				if took := time.Since(start); took > 3*time.Minute {
					held = append(held, fmt.Sprintf("%s (handler reads %t): %v", name, reads, took))
				}
				conn.Close()
				<-ended
			})
		}
	}
	if held != nil {
		t.Errorf("connections were held:\n%s", strings.Join(held, "\n"))
	}
}

// Whoever opened connections without end took the descriptors of the whole host, before any of them had
// shown a token.
func TestAFloodOfConnectionsTookTheDescriptorsOfTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const more = 10
		ctx, cancel := context.WithCancel(t.Context())
		l := pipes{make(chan net.Conn), make(chan struct{})}
		running := (&Server{Handler: http.NotFoundHandler()}).Start(ctx, l)
		var closed atomic.Int32
		var reading sync.WaitGroup
		open := func() {
			here, there := net.Pipe()
			l.conns <- there
			reading.Go(func() {
				_, _ = io.Copy(io.Discard, here)
				closed.Add(1)
			})
		}
		for range 2048 + more {
			open()
		}
		if synctest.Wait(); closed.Load() != more {
			t.Errorf("%d connections were closed, want %d", closed.Load(), more)
		}
		time.Sleep(time.Minute) // the others have sent no header
		before := closed.Load()
		open()
		if synctest.Wait(); closed.Load() != before || before != 2048+more {
			t.Errorf("%d connections were closed, and one more: %d", before, closed.Load())
		}
		cancel()
		running.Close()
		reading.Wait()
	})
}
