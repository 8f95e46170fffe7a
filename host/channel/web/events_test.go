package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/media"
)

// live is a page that listens.
type live struct {
	t    testing.TB
	in   *bufio.Scanner
	stop func()
}

type event struct{ id, kind, data string }

func (s *site) listen(query string, header ...string) *live {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", s.at("/api/chats/family/events"+query), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		s.t.Fatalf("events answered %d %v", res.StatusCode, res.Header)
	}
	in := bufio.NewScanner(res.Body)
	in.Buffer(nil, 1<<20)
	stop := func() { cancel(); res.Body.Close() }
	s.t.Cleanup(stop)
	return &live{s.t, in, stop}
}

func (l *live) next() event {
	l.t.Helper()
	var e event
	for l.in.Scan() {
		name, value, _ := strings.Cut(l.in.Text(), ": ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.kind = value
		case "data":
			e.data = value
		case "":
			if e.kind != "" {
				return e
			}
		}
	}
	l.t.Fatalf("the stream ended: %v", l.in.Err())
	return e
}

// message is the next message, whatever else happens.
func (l *live) message() history.Message {
	l.t.Helper()
	for {
		if e := l.next(); e.kind == "message" {
			var m history.Message
			if err := json.Unmarshal([]byte(e.data), &m); err != nil || m.ID != e.id {
				l.t.Fatalf("%v in %+v", err, e)
			}
			return m
		}
	}
}

func (l *live) activity(ok func(typing bool, arriving int) bool) string {
	l.t.Helper()
	for {
		e := l.next()
		if e.kind != "activity" {
			continue
		}
		var a struct {
			Typing   bool
			Arriving []struct{ Name string }
		}
		if err := json.Unmarshal([]byte(e.data), &a); err != nil {
			l.t.Fatal(err)
		}
		if ok(a.Typing, len(a.Arriving)) {
			return e.data
		}
	}
}

func TestPagesHearWhatHappens(t *testing.T) {
	s := start(t, options(t.TempDir()))
	old := s.say("before")
	l := s.listen("")
	s.Typing(t.Context(), "web:family", "", true)
	l.activity(func(typing bool, _ int) bool { return typing })
	m := s.say("a\n\nid: forged\nevent: message\ndata: {}")
	if got := l.message(); got.ID != m.ID || got.Text != m.Text {
		t.Errorf("heard %+v, want %+v", got, m)
	}
	if m.ID == old.ID {
		t.Error("two messages have one id")
	}
	id := s.send(channel.Message{Text: "answer"}).ID
	if got := l.message(); got.ID != id {
		t.Errorf("heard %+v", got)
	}
	s.in.wait(t, func() bool { return slices.Contains(s.in.reports, id+" delivered") })
	s.Typing(t.Context(), "web:family", "", false)
	l.activity(func(typing bool, _ int) bool { return !typing })
}

func TestAPageThatWasAwayCatchesUp(t *testing.T) {
	s := start(t, options(t.TempDir()))
	var ids []string
	for i := range 200 {
		ids = append(ids, s.send(channel.Message{Text: fmt.Sprint(i)}).ID)
	}
	for name, l := range map[string]*live{
		"by its last event": s.listen("?after="+ids[0], "Last-Event-ID", ids[20]),
		"by address":        s.listen("?after=" + ids[20]),
	} {
		for i := 21; i < 200; i++ {
			if got := l.message(); got.Text != fmt.Sprint(i) {
				t.Fatalf("%s: heard %q, want %d", name, got.Text, i)
			}
		}
	}
	if got := s.listen("?after=0").message(); got.Text != "0" {
		t.Errorf("from the beginning: %q", got.Text)
	}
	if res, b := s.do("GET", "/api/chats/family/events?after=unknown", nil); res.StatusCode != 404 {
		t.Errorf("after an unknown message: %d %s", res.StatusCode, b)
	}
}

// Messages come from both sides at once while pages come and go: each page
// hears everything behind its last message, once, in the history's order.
func TestNothingIsMissedAndNothingHeardTwice(t *testing.T) {
	s := start(t, options(t.TempDir()))
	first := s.say("first").ID
	const n = 60
	done := make(chan struct{})
	for w := range 3 {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range n / 3 {
				if w == 0 {
					s.say("member")
				} else if _, err := s.Send(t.Context(), channel.Message{ID: newID(), Chat: "web:family", Text: fmt.Sprint(i)}); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	var heard []string
	last := first
	for len(heard) < n {
		l := s.listen("?after=" + last)
		for range min(7, n-len(heard)) {
			last = l.message().ID
			heard = append(heard, last)
		}
		l.stop()
	}
	for range 3 {
		<-done
	}
	var want []string
	for _, m := range s.history("?limit=200")[1:] {
		want = append(want, m.ID)
	}
	if !slices.Equal(heard, want) {
		t.Errorf("heard\n%v, want\n%v", heard, want)
	}
}

// One page stops reading. The others, and Send, do not wait for it. They read
// all the time: on a busy machine they would else be let go as slow themselves.
func TestASlowPageDelaysNobody(t *testing.T) {
	t.Parallel()
	s := start(t, options(t.TempDir()))
	slow, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if err := slow.(*net.TCPConn).SetReadBuffer(1024); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(slow, "GET /api/chats/family/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if _, err := bufio.NewReaderSize(slow, 16).ReadByte(); err != nil {
		t.Fatal(err)
	}
	pages := make([]*live, 12)
	for i := range pages {
		pages[i] = s.listen("")
	}
	text := strings.Repeat("<", 4000) // six bytes each, as JSON
	for range 200 {
		s.send(channel.Message{Text: text})
		for _, l := range pages {
			l.message()
		}
	}
}

func TestAFilesArrivalIsShown(t *testing.T) {
	s := start(t, options(t.TempDir()))
	l := s.listen("")
	f := outgoing("big.bin", "application/octet-stream", media.Document, make([]byte, 3<<20))
	r, w := io.Pipe()
	open := f[0].Open
	f[0].Content = channeltest.Opens(func() (io.ReadSeekCloser, error) { return &held{pipe: r}, nil })
	sent := make(chan error, 1)
	go func() {
		_, err := s.Send(t.Context(), channel.Message{ID: newID(), Chat: "web:family", Files: f})
		sent <- err
	}()
	data := l.activity(func(_ bool, arriving int) bool { return arriving == 1 })
	if !strings.Contains(data, `"big.bin"`) || !strings.Contains(data, `"size":3145728`) {
		t.Errorf("the arrival is %s", data)
	}
	src, err := open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, src); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	l.message()
	l.activity(func(_ bool, arriving int) bool { return arriving == 0 })
}

// held is a file whose bytes come when the test gives them.
type held struct {
	io.ReadSeekCloser
	pipe *io.PipeReader
}

func (h *held) Read(p []byte) (int, error) { return h.pipe.Read(p) }
func (h *held) Close() error               { return h.pipe.Close() }

func TestStreamsEndWithTheHost(t *testing.T) {
	s := start(t, options(t.TempDir()))
	l := s.listen("")
	s.stop()
	for l.in.Scan() {
	}
}

// One session's pages were all that the site has, and nobody else's was live.
func TestOneSessionCannotHoldAllStreams(t *testing.T) {
	s, _ := behindToken(t)
	greedy, key := s.signIn()
	for range 64 {
		s.listen("", "Cookie", pair(greedy), "X-Longshore-Key", key)
	}
	if got := s.status("GET", "/api/chats/family/events", greedy, key); got != 503 {
		t.Errorf("one more page of the session: %d", got)
	}
	c, key := s.signIn()
	s.listen("", "Cookie", pair(c), "X-Longshore-Key", key).activity(func(bool, int) bool { return true })
}
