package channeltest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// Arrivals is a channel.Inbox that keeps what comes in. The zero Arrivals is ready.
type Arrivals struct {
	mu   sync.Mutex
	news chan struct{} // closed with the next message; nil: nobody waits
	got  []channel.Inbound
}

// Receive implements channel.Inbox.
func (in *Arrivals) Receive(_ context.Context, m channel.Inbound) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	m.Entry = nil // the channel's own
	if in.got = append(in.got, m); in.news != nil {
		close(in.news)
		in.news = nil
	}
	return nil
}

// Report implements channel.Inbox.
func (in *Arrivals) Report(context.Context, groups.JID, string, channel.State) {}

// Wait waits for n messages, 60 seconds at most, and returns all.
func (in *Arrivals) Wait(t testing.TB, n int) []channel.Inbound {
	t.Helper()
	patience := time.After(60 * time.Second)
	for {
		in.mu.Lock()
		if in.news == nil {
			in.news = make(chan struct{})
		}
		got, news := in.got, in.news
		in.mu.Unlock()
		if len(got) >= n {
			return got
		}
		select {
		case <-news:
		case <-patience:
			t.Fatalf("%d messages came in, want %d: %.2000s", len(got), n, words(got))
		}
	}
}

func words(all []channel.Inbound) (s string) {
	for _, m := range all {
		s += m.Text + "; "
	}
	return s
}
