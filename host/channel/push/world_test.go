package push_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/push/pushtest"
	"github.com/longshore-bridge/longshore/media"
)

// inbox keeps what comes in.
type inbox = channeltest.Arrivals

// run runs the channel until the test ends, or stop.
func (w *world) run(t testing.TB) (in *inbox, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	in = new(inbox)
	ended := make(chan error, 1)
	go func() { ended <- w.ch.Run(ctx, in) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		ok, detail := w.ch.(channel.Status).Connected()
		if ok || !strings.HasPrefix(detail, "not running") && !strings.HasPrefix(detail, "connecting") {
			break
		}
	}
	return in, stop
}

var ids = struct {
	sync.Mutex
	n int
}{}

func newID() string {
	ids.Lock()
	defer ids.Unlock()
	ids.n++
	return fmt.Sprintf("%032x", ids.n)
}

func text(s string) channel.Message { return channel.Message{ID: newID(), Chat: desk, Text: s} }

func withFiles(s string, contents ...string) channel.Message {
	m := text(s)
	for i, c := range contents {
		sum := sha256.Sum256([]byte(c))
		m.Files = append(m.Files, channel.File{
			Info:    media.Info{Name: fmt.Sprintf("Übersicht „%d“.txt", i), Kind: media.Document, MIME: "text/plain", Size: int64(len(c))},
			SHA256:  hex.EncodeToString(sum[:]),
			Content: channel.Bytes(c),
		})
	}
	return m
}

type nopCloser struct{ io.ReadSeeker }

func (nopCloser) Close() error { return nil }

// reply is a signed reply, which a test may spoil.
func (w *world) reply(t testing.TB, id string, at time.Time, r any) *http.Request {
	t.Helper()
	req, err := w.Request(t.Context(), w.listens(t), id, at, r)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// answers sends a request and wants that status and that code of a refusal.
func answers(t testing.TB, what string, req *http.Request, status int, code string) {
	t.Helper()
	got, gotCode, err := pushtest.Do(req)
	if err != nil || got != status || gotCode != code {
		t.Errorf("%s: %d %q %v, want %d %q", what, got, gotCode, err, status, code)
	}
}

func hello() pushtest.Reply {
	return pushtest.Reply{Type: "message", Chat: string(desk), ID: "m-1", From: "Ada", Sender: "u-1", Text: "hello"}
}
