package slack_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/media"
)

// inbox keeps what comes in.
type inbox struct {
	channeltest.Arrivals

	awaited int // by next
}

// run runs the channel until the test ends, or stop. It is connected then, or stopped
// by Slack.
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
	w.status(t, func(ok bool, detail string) bool {
		return ok || !strings.HasPrefix(detail, "not running") && !strings.HasPrefix(detail, "connecting")
	})
	return in, stop
}

// status waits until the channel's status is as wanted, and returns it.
func (w *world) status(t testing.TB, holds func(ok bool, detail string) bool) string {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	patience := time.After(60 * time.Second)
	for {
		ok, detail := w.ch.(channel.Status).Connected()
		if holds(ok, detail) {
			return detail
		}
		select {
		case <-tick.C:
		case <-patience:
			t.Fatalf("the status stays %t, %q", ok, detail)
		}
	}
}

var ids atomic.Int64

func newID() string { return fmt.Sprintf("%032x", ids.Add(1)) }

func (w *world) text(s string) channel.Message {
	return channel.Message{ID: newID(), Chat: w.desk, Text: s}
}

// files is a message with a file of each content.
func (w *world) files(s string, contents ...string) channel.Message {
	m := w.text(s)
	for i, c := range contents {
		sum := sha256.Sum256([]byte(c))
		m.Files = append(m.Files, channel.File{
			Info:    media.Info{Name: fmt.Sprintf("Übersicht „%d“.txt", i), Kind: media.Document, MIME: "text/plain", Size: int64(len(c)), Alt: fmt.Sprint("file ", i)},
			SHA256:  hex.EncodeToString(sum[:]),
			Content: channel.Bytes(c),
		})
	}
	return m
}

type nopCloser struct{ io.ReadSeeker }

func (nopCloser) Close() error { return nil }

// kept is what Attempt.Save keeps over attempts, and over a crash.
type kept struct {
	state []byte
	saves int
	crash int // the host dies in the save of that number, after it; 0: never
}

var errCrash = errors.New("the host is dead")

// attempt sends m as the outbox does: with what was saved before.
func (w *world) attempt(t testing.TB, m channel.Message, k *kept) (channel.Receipt, error) {
	t.Helper()
	m.State = k.state
	m.Attempt = keeping{k, t}
	return w.ch.Send(t.Context(), m)
}

type keeping struct {
	*kept
	t testing.TB
}

func (k keeping) Save(_ context.Context, state []byte) error {
	k.saves++
	if k.state = append([]byte{}, state...); len(state) > channel.MaxState {
		k.t.Errorf("%d bytes are saved", len(state))
	}
	if k.saves == k.crash {
		return errCrash
	}
	return nil
}

func (keeping) Progress(int64) {}

// find asks what became of m, as the outbox does.
func (w *world) find(t testing.TB, m channel.Message, k *kept) (*channel.Receipt, error) {
	t.Helper()
	m.State, m.Since = k.state, time.Now().Add(-time.Minute)
	return w.ch.(channel.Finder).Find(t.Context(), m)
}

// is checks the class and the code of an error.
func is(t testing.TB, what string, err error, class channel.Class, code string) *channel.Error {
	t.Helper()
	var e *channel.Error
	if !errors.As(err, &e) || e.Class != class || e.Code != code {
		t.Errorf("%s: %v is %v, want %v %s", what, err, channel.ClassOf(err), class, code)
		return &channel.Error{}
	}
	return e
}
