package whatsapp_test

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// inbox keeps what comes in, as the host does.
type inbox struct {
	mu      sync.Mutex
	news    chan struct{}
	got     []channel.Inbound
	bodies  map[string][]byte // by message id
	reports []string
	refuse  error // what Receive answers
	hold    <-chan struct{}
	calls   int
	holding int
	check   func(channel.Inbound) // instead of reading files; called with the lock held
	fetch   func(context.Context, channel.FileRef) (io.ReadCloser, error)
}

func (in *inbox) Receive(ctx context.Context, m channel.Inbound) error {
	in.mu.Lock()
	refuse, hold, check := in.refuse, in.hold, in.check
	in.calls++
	if hold != nil {
		in.holding++
	}
	in.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if refuse != nil {
		return refuse
	}
	var body []byte
	for _, f := range m.Files {
		if check != nil {
			break
		}
		r, err := in.fetch(ctx, refOf(m, f))
		if err != nil {
			return err
		}
		body, err = io.ReadAll(r)
		r.Close()
		if err != nil {
			return err
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if check != nil {
		check(m)
	}
	if in.bodies == nil {
		in.bodies = map[string][]byte{}
	}
	in.bodies[m.ID] = body
	in.got = append(in.got, m)
	in.told()
	return nil
}

func refOf(m channel.Inbound, f channel.Attachment) channel.FileRef {
	return channel.FileRef{Chat: m.Chat, Ref: f.Ref, Patient: true}
}

func (in *inbox) Report(_ context.Context, chat groups.JID, id string, state channel.State) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.reports = append(in.reports, fmt.Sprintf("%s %s %s", chat, id, state))
	in.told()
}

func (in *inbox) told() {
	close(in.news)
	in.news = make(chan struct{})
}

// received waits for n messages.
func (w *world) received(n int) []channel.Inbound {
	w.t.Helper()
	ctx := soon(w.t)
	for {
		w.in.mu.Lock()
		got, news := append([]channel.Inbound(nil), w.in.got...), w.in.news
		w.in.mu.Unlock()
		if len(got) >= n {
			return got
		}
		select {
		case <-news:
		case <-ctx.Done():
			w.t.Fatalf("%d messages came in, want %d", len(got), n)
		}
	}
}
