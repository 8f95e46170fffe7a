package httpd

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// deadlines is an answer that notes by when a body must have come.
type deadlines struct {
	*httptest.ResponseRecorder
	read time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error { d.read = t; return nil }

// TestABodyThatCameFastMayNotStallForLonger: half a minute of grace, which 16 KiB give a
// second of back. A gigabyte that came at once does not keep a place for a day.
func TestABodyThatCameFastMayNotStallForLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rw := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat("x", 1<<20)))
		p := Body(rw, r, 1<<20, Speed{16 << 10, 30 * time.Second})
		read := func(n int, want time.Duration) {
			t.Helper()
			if _, err := io.ReadFull(p, make([]byte, n)); err != nil {
				t.Fatal(err)
			}
			if got := time.Until(p.(*body).due).Round(time.Millisecond); got != want {
				t.Errorf("the next bytes must come within %v, want %v", got, want)
			}
		}
		read(512<<10, 30*time.Second)
		time.Sleep(20 * time.Second) // of the bubble
		read(16, 10*time.Second+time.Millisecond)
		read(32<<10, 12*time.Second+time.Millisecond)
		due := p.(*body).due
		if read(16, 12*time.Second+2*time.Millisecond); !rw.read.Equal(due) {
			t.Errorf("the connection waits until %v, want %v", rw.read, due)
		}
	})
}

// TestABodyThatTricklesEnds: at the usual bounds, at those that a handler sets, and if no handler reads
// it. Each kept a connection and a goroutine for as long as its sender liked.
func TestABodyThatTricklesEnds(t *testing.T) {
	for name, handle := range map[string]http.HandlerFunc{
		"the usual":      func(rw http.ResponseWriter, r *http.Request) { _, _ = io.Copy(rw, r.Body) },
		"quick":          func(rw http.ResponseWriter, r *http.Request) { _, _ = ReadAll(rw, r, 1<<20) },
		"steady":         func(rw http.ResponseWriter, r *http.Request) { _, _ = io.Copy(rw, Body(rw, r, 1<<20, Steady)) },
		"that none read": func(http.ResponseWriter, *http.Request) {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn, begin := serveOne(t, handle), time.Now()
				res, err := http.ReadResponse(bufio.NewReader(conn), nil) // to the request of serveOne
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				var trickle sync.WaitGroup
				defer trickle.Wait()
				trickle.Go(func() {
					for _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"); err == nil; _, err = io.WriteString(conn, "x") {
						time.Sleep(time.Second) // of synctest
					}
				})
				if _, err := io.Copy(io.Discard, conn); err != nil {
					t.Error(err)
				}
				if took := time.Since(begin); took > time.Minute {
					t.Errorf("the connection ended after %v", took)
				}
			})
		})
	}
}

// TestAHandlerThatTakesLongLostItsRequest: the deadline of a body that had come whole, or that was
// none, ended the request after ten seconds, as if its client had left.
func TestAHandlerThatTakesLongLostItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := serveOne(t, func(rw http.ResponseWriter, r *http.Request) {
			if _, p := ReadAll(rw, r, 10); p != nil {
				t.Error(p)
			}
			select {
			case <-r.Context().Done():
				t.Error(context.Cause(r.Context()))
			case <-time.After(time.Hour): // of synctest
			}
		})
		in := bufio.NewReader(conn)
		for _, next := range []string{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx", ""} {
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			_, _ = io.WriteString(conn, next)
		}
	})
}

// TestABodyHadNoBoundIfItsHandlerSetNone, and one that a handler sets replaces the usual.
func TestABodyHadNoBoundIfItsHandlerSetNone(t *testing.T) {
	for most, want := range map[int64]bool{0: false, usualBody * 2: true, usualBody*2 - 1: false} {
		whole := false
		s := &Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if most > 0 {
				r.Body = Body(rw, r, most, Steady)
			}
			_, err := io.Copy(io.Discard, r.Body)
			whole = err == nil
		})}
		s.serve(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", usualBody*2))))
		if whole != want {
			t.Errorf("of at most %d bytes: read whole: %t", most, whole)
		}
	}
}
