package web_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// pipes is a listener in memory, so that its clients live in a test's own time.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8420} }

func (l *pipes) dial(t *testing.T) net.Conn {
	t.Helper()
	client, server := net.Pipe()
	t.Cleanup(func() { client.Close() })
	l.conns <- server
	return client
}

const boundary = "xxxxxxxx"

// head is the beginning of a post with one file of size bytes.
func head(size int) string {
	part := "--" + boundary + "\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a.bin\"\r\n\r\n"
	return fmt.Sprintf("POST /api/chats/family/messages HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: multipart/form-data; boundary=%s\r\nContent-Length: %d\r\n\r\n%s",
		boundary, len(part)+size+len(tail), part)
}

const tail = "\r\n--" + boundary + "--\r\n"

// crawl sends a file of a MiB at a speed of so many bytes a second, and returns once
// its connection ends.
func crawl(c net.Conn, speed int) {
	defer c.Close()
	go io.Copy(io.Discard, c) //nolint:errcheck // a pipe holds nothing: somebody must take the answer
	if _, err := c.Write([]byte(head(1 << 20))); err != nil {
		return
	}
	for range 1 << 20 / speed {
		time.Sleep(time.Second)
		if _, err := c.Write(make([]byte, speed)); err != nil {
			return
		}
	}
}

// post sends a small file and returns what it was answered.
func post(t *testing.T, c net.Conn) (status int) {
	t.Helper()
	go c.Write([]byte(head(4) + "data" + tail)) //nolint:errcheck // the answer says it
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Error(err)
		return 0
	}
	res.Body.Close()
	return res.StatusCode
}

// serve runs a site on pipes within a test's own time.
func serve(t *testing.T, o setup) (*site, *pipes) {
	t.Helper()
	statetest.SQLiteOnly(t, "a bubble of synctest cannot hold a socket")
	l := newPipes()
	o.Listener = l
	w, err := opened(o.opens(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	in := newInbox()
	in.fetch = w.Fetch
	go func() { ended <- w.Run(ctx, in) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	dial := func(context.Context, string, string) (net.Conn, error) { return l.dial(t), nil }
	return &site{Web: w, in: in, t: t, client: http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}, l
}

func TestTwentyCrawlingUploadsDoNotKeepOthersOut(t *testing.T) {
	for _, speed := range []int{1, 1000, 9 << 10} { // bytes a second; the last is quick enough while nobody waits
		t.Run(fmt.Sprint(speed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, l := serve(t, options(t.TempDir()))
				var crawlers sync.WaitGroup
				for range 20 {
					c := l.dial(t)
					crawlers.Go(func() {
						for range 3 { // each comes back
							crawl(c, speed)
							c = l.dial(t)
						}
						c.Close()
					})
				}
				time.Sleep(time.Second)
				for range 3 {
					start := time.Now()
					if got := post(t, l.dial(t)); got != http.StatusCreated {
						t.Errorf("another member is answered %d after %v", got, time.Since(start))
					}
					if took := time.Since(start); took > 20*time.Second {
						t.Errorf("another member waited %v", took)
					}
				}
				crawlers.Wait()
			})
		})
	}
}

func TestASlowUploadGoesThroughWhileNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, l := serve(t, options(t.TempDir()))
		c := l.dial(t)
		const speed = 16 << 10
		go func() {
			for _, part := range strings.SplitAfter(head(64*speed), "\r\n\r\n") {
				c.Write([]byte(part)) //nolint:errcheck // the answer says it
			}
			for range 64 {
				time.Sleep(time.Second)
				c.Write(make([]byte, speed)) //nolint:errcheck // the same
			}
			c.Write([]byte(tail)) //nolint:errcheck // the same
		}()
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusCreated {
			t.Errorf("answered %d", res.StatusCode)
		}
	})
}

// holdFiles begins n posts with files in a session of its own and never goes
// on. It returns what those are answered that are refused at once.
func (s *site) holdFiles(t *testing.T, l *pipes, n int) (refused <-chan string) {
	t.Helper()
	c, key := s.signIn()
	answers := hold(t, func() net.Conn { return l.dial(t) }, n, fmt.Sprintf("Cookie: %s\r\nX-Longshore-Key: %s", pair(c), key))
	synctest.Wait() // until each has its place, waits for one, or is refused
	return answers
}

// hold is holdFiles on connections of the caller's, by whom the header says.
func hold(t *testing.T, dial func() net.Conn, n int, header string) (refused <-chan string) {
	t.Helper()
	answers := make(chan string, n)
	for range n {
		conn := dial()
		h := strings.Replace(head(1<<20), "\r\n\r\n", "\r\n"+header+"\r\n\r\n", 1)
		if _, err := conn.Write([]byte(h)); err != nil {
			t.Fatal(err)
		}
		go func() {
			if res, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
				res.Body.Close()
				answers <- res.Status
			}
		}()
	}
	return answers
}

// promptly posts a file in a session of its own, which must not wait.
func (s *site) promptly() {
	s.t.Helper()
	c, key := s.signIn()
	body, kind := form(s.t, nil, attachment{"a.txt", []byte("alpha")})
	start := time.Now()
	res, b := s.do("POST", chatAPI, body, "Content-Type", kind, "Cookie", pair(c), "X-Longshore-Key", key)
	if took := time.Since(start); res.StatusCode != 201 || took > 4*time.Second {
		s.t.Errorf("another session is answered %d %s after %v", res.StatusCode, b, took)
	}
}

func TestOneSessionCannotHoldAllPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := serve(t, withToken(t))
		s.holdFiles(t, l, 20)
		s.promptly()
	})
}

// Its posts beyond the places that it may have waited, and everybody else was
// answered busy although half of the places were free.
func TestOneSessionCannotFillTheQueueForPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := serve(t, withToken(t))
		const places, queue = 4, 64
		for refused, n := s.holdFiles(t, l, 100), 0; n < 100-places-queue; n++ {
			if got := <-refused; got != "503 Service Unavailable" {
				t.Fatalf("a post that never goes on is answered %s", got)
			}
		}
		s.promptly()
	})
}

func TestTextsThatAreNoUTF8AreRefused(t *testing.T) {
	s := start(t, options(t.TempDir()))
	for name, body := range map[string]string{
		"text": `{"text":"caf` + "\xe9" + `"}`, "name": `{"text":"x","from":"An` + "\xff" + `"}`, "cut": `{"text":"` + "\xe2\x82" + `"}`, "overlong": `{"text":"` + "\xc0\xaf" + `"}`,
	} {
		if res, b := s.do("POST", chatAPI, strings.NewReader(body), "Content-Type", "application/json"); res.StatusCode != 400 || !strings.Contains(string(b), "bad_utf8") {
			t.Errorf("%s: %d %s", name, res.StatusCode, b)
		}
	}
	for name, fields := range map[string]map[string]string{
		"text": {"text": "caf\xe9"}, "name": {"text": "x", "from": "An\xff"},
	} {
		if res, b := s.upload(fields); res.StatusCode != 400 || !strings.Contains(string(b), "bad_utf8") {
			t.Errorf("form, %s: %d %s", name, res.StatusCode, b)
		}
	}
	if res, b := s.upload(map[string]string{"text": "x"}, attachment{"caf\xe9.txt", []byte("x")}); res.StatusCode != 400 || !strings.Contains(string(b), "bad_utf8") {
		t.Errorf("a file's name: %d %s", res.StatusCode, b)
	}
	if n := len(s.in.received()) + len(s.history("")); n != 0 {
		t.Errorf("%d messages were kept", n)
	}
	if m := s.say("café 文 😀"); m.Text != "café 文 😀" {
		t.Errorf("UTF-8 became %q", m.Text)
	}
}
