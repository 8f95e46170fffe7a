package web_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// unread opens an event stream and reads its first event alone.
func unread(t *testing.T, c net.Conn, query string, header ...string) *http.Response {
	t.Helper()
	go fmt.Fprintf(c, "GET /api/chats/family/events%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", query, strings.Join(header, "")) //nolint:errcheck // the answer says it
	res, err := http.ReadResponse(bufio.NewReaderSize(c, 16), nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// heard are the messages of a stream up to its end.
func heard(t *testing.T, r io.Reader) (ids []string) {
	t.Helper()
	in := bufio.NewReaderSize(r, 1<<20)
	for id := ""; ; {
		line, err := in.ReadString('\n')
		if err != nil { // a reset, or an event that was cut off
			return ids
		}
		if next, ok := strings.CutPrefix(line, "id: "); ok {
			id = strings.TrimSpace(next)
		}
		if line == "\n" && id != "" {
			ids, id = append(ids, id), ""
		}
	}
}

// A stream that was not read cost as much as one that was, and held what it had not
// written. Now it ends, and the page gets the rest by the last message that it has.
func TestAStreamThatIsNotReadEndsAndCatchesUp(t *testing.T) {
	s := start(t, options(t.TempDir()))
	first := s.say("first").ID
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	res := unread(t, c, "?after="+first)
	defer res.Body.Close()
	const n = 60
	var ids []string
	for range n {
		ids = append(ids, s.send(channel.Message{Text: strings.Repeat("Some words. ", 1250)}).ID)
	}
	got := heard(t, res.Body)
	if len(got) >= n/2 {
		t.Fatalf("a stream that was not read has %d of %d messages", len(got), n)
	}
	last := append([]string{first}, got...)[len(got)] // it may end before it has sent one
	again := s.listen("?after=" + last)
	for _, id := range ids[len(got):] {
		if m := again.message(); m.ID != id {
			t.Fatalf("then comes %s, not %s", m.ID, id)
		}
	}
}

// pipeSite is a site on pipes, in a test's own time.
func pipeSite(t *testing.T, token string) (*site, *pipes) {
	t.Helper()
	statetest.SQLiteOnly(t, "a bubble of synctest cannot hold a socket")
	l := newPipes()
	o := options(t.TempDir())
	o.Listener, o.Token = l, token
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
	return &site{Web: w, in: in, t: t}, l
}

func TestAStreamThatIsTenSecondsBehindEnds(t *testing.T) {
	for after, alive := range map[time.Duration]bool{9 * time.Second: true, 11 * time.Second: false} {
		synctest.Test(t, func(t *testing.T) {
			s, l := pipeSite(t, "")
			c := l.dial(t)
			res := unread(t, c, "")
			defer res.Body.Close()
			in := bufio.NewReader(res.Body)
			for line := ""; !strings.HasPrefix(line, "data: "); { // the activity
				var err error
				if line, err = in.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := in.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			s.send(channel.Message{Text: "words"})
			time.Sleep(after)
			synctest.Wait()
			if _, err := in.ReadString('\n'); (err == nil) != alive {
				t.Errorf("after %v: %v", after, err)
			}
		})
	}
}

// With the token in a header, one member took all event streams and all places for
// uploads: only browsers' sessions were counted.
func TestTheTokenItselfTakesNoMoreThanASession(t *testing.T) {
	s, _ := behindToken(t)
	bearer := "Bearer " + token
	for range 64 {
		s.listen("", "Authorization", bearer)
	}
	if res, _ := s.do("GET", "/api/chats/family/events", nil, "Authorization", bearer); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("one more stream with the token: %d", res.StatusCode)
	}
	c, key := s.signIn()
	s.listen("", "Cookie", pair(c), "X-Longshore-Key", key).activity(func(bool, int) bool { return true })
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	for refused, n := hold(t, dial, 100, "Authorization: "+bearer), 0; n < 88; n++ {
		if got := <-refused; got != "503 Service Unavailable" {
			t.Fatalf("a post that never goes on is answered %s", got)
		}
	}
	s.promptly()
}
