package channeltest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// joined is a channel that runs in a story.
type joined struct {
	channel.Channel
	t     testing.TB
	h     Harness
	in    *inbox
	saved *sync.Map       // by Message.ID, what Send saved
	ctx   context.Context // of the story; ends when patience does
	stop  func()          // ends Run and checks how it ended; once, at the latest by Cleanup
}

// join makes the harness's channel and runs it.
func join(t testing.TB, h Harness) *joined {
	t.Helper()
	return run(t, h, h.New(t))
}

func run(t testing.TB, h Harness, c channel.Channel) *joined {
	t.Helper()
	before := append([]goleak.Option{goleak.IgnoreCurrent()}, h.Leaks...)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	runCtx, end := context.WithCancel(ctx)
	j := &joined{Channel: c, t: t, h: h, in: newInbox(), saved: &sync.Map{}, ctx: ctx}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(runCtx, j.in) }()
	var once sync.Once
	j.stop = func() {
		once.Do(func() {
			end()
			select {
			case err := <-ended:
				if err != nil {
					t.Errorf("Run returned %v when its context was done, want nil", err)
				}
				if err := goleak.Find(before...); err != nil {
					t.Errorf("after Run: %v", err)
				}
			case <-time.After(patience):
				t.Errorf("Run did not return within %v of its context being done", patience)
			}
			cancel()
		})
	}
	t.Cleanup(j.stop)
	ready(t, h, j)
	return j
}

func ready(t testing.TB, h Harness, j *joined) {
	t.Helper()
	if h.Ready != nil {
		h.Ready(t, j.Channel)
		return
	}
	s, ok := j.Channel.(channel.Status)
	if !ok {
		return
	}
	tick := time.Tick(2 * time.Millisecond)
	for {
		up, detail := s.Connected()
		if up {
			return
		}
		select {
		case <-tick:
		case <-j.ctx.Done():
			t.Fatalf("not connected within %v: %s", patience, detail)
		}
	}
}

// restarted is the next channel with the same state and platform.
func (j *joined) restarted() *joined {
	j.t.Helper()
	j.stop()
	next := run(j.t, j.h, j.h.Restart(j.t))
	next.saved = j.saved
	return next
}

// Send hands back what earlier attempts have saved, and waits until the platform
// shows what it has taken.
func (j *joined) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	if kept, ok := j.saved.Load(m.ID); ok {
		m.State = kept.([]byte)
	}
	a := &attempt{joined: j, id: m.ID, watch: m.Attempt}
	m.Attempt = a
	r, err := j.Channel.Send(ctx, m)
	a.returned.Store(true)
	if err != nil || !r.Pending {
		return r, err
	}
	return j.shown(ctx, m, r)
}

// attempt is what a Send reports to a joined.
type attempt struct {
	*joined
	id       string
	watch    channel.Attempt // the story's; may be nil
	returned atomic.Bool
}

func (a *attempt) Save(_ context.Context, state []byte) error {
	if len(state) > channel.MaxState || a.returned.Load() {
		a.t.Errorf("Send saves %d bytes of state, after its end: %t", len(state), a.returned.Load())
	}
	a.saved.Store(a.id, bytes.Clone(state))
	return nil
}

func (a *attempt) Progress(sent int64) {
	if a.watch != nil {
		a.watch.Progress(sent)
	}
}

// shown waits until the platform shows a message that it has taken.
func (j *joined) shown(ctx context.Context, m channel.Message, r channel.Receipt) (channel.Receipt, error) {
	if j.h.Settle != nil {
		j.h.Settle(j.t)
	}
	f, finds := j.Channel.(channel.Finder)
	if !finds {
		want := fmt.Sprintf("%s %s %s", m.Chat, r.ID, channel.StateSent)
		j.wait("report "+want, func(in *inbox) bool { return slices.Contains(in.reports, want) })
		r.Pending = false
		return r, nil
	}
	for ctx.Err() == nil {
		found, err := f.Find(ctx, m)
		if err != nil || found == nil {
			return r, fmt.Errorf("find what is pending: %v, %w", found, err)
		}
		if !found.Pending {
			return *found, nil
		}
	}
	return r, ctx.Err()
}

// send sends what has to arrive.
func (j *joined) send(m channel.Message) channel.Receipt {
	j.t.Helper()
	r, err := j.Send(j.ctx, m)
	if err != nil {
		j.t.Fatalf("Send: %v", err)
	}
	if r.ID == "" || r.Time.IsZero() {
		j.t.Errorf("receipt %+v has no id or no time", r)
	}
	return r
}

// again does what a host does that does not know what became of m: it looks
// where it can, and sends the same once more.
func (j *joined) again(m channel.Message) channel.Receipt {
	j.t.Helper()
	if f, ok := j.Channel.(channel.Finder); ok {
		r, err := f.Find(j.ctx, m)
		if err != nil {
			j.t.Fatalf("Find: %v", err)
		}
		if r != nil {
			return *r
		}
	}
	return j.send(m)
}

// newID makes a message id of the form that the outbox makes.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, says its documentation
	return hex.EncodeToString(b[:])
}

// noise is data that no platform can compress or take for a known type: it
// begins like none.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	copy(b, "\x9c\x02\x81\x17\xee\x00\x01\x5b")
	return b
}

// inbox keeps what comes in.
type inbox struct {
	mu      sync.Mutex
	news    chan struct{}
	got     []channel.Inbound
	refuses atomic.Bool // what comes in is not kept
	refused int
	reports []string
}

func newInbox() *inbox { return &inbox{news: make(chan struct{})} }

// Receive implements channel.Inbox.
func (in *inbox) Receive(_ context.Context, m channel.Inbound) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	defer in.changedLocked()
	if in.refuses.Load() {
		in.refused++
		return errNotKept
	}
	m.Entry = nil // the channel's own
	in.got = append(in.got, m)
	return nil
}

// errNotKept is of an inbox that refuses.
var errNotKept = errors.New("the disk is full")

// fetch brings the only file of a message.
func (j *joined) fetch(m channel.Inbound) ([]byte, error) {
	j.t.Helper()
	f, ok := j.Channel.(channel.Fetcher)
	if !ok || len(m.Files) != 1 || m.Files[0].Ref == "" {
		j.t.Fatalf("%d files came in, through a Fetcher: %t", len(m.Files), ok)
	}
	r, err := f.Fetch(j.ctx, channel.FileRef{Chat: m.Chat, Ref: m.Files[0].Ref, Patient: true})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// Report implements channel.Inbox.
func (in *inbox) Report(_ context.Context, chat groups.JID, id string, state channel.State) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.reports = append(in.reports, fmt.Sprintf("%s %s %s", chat, id, state))
	in.changedLocked()
}

func (in *inbox) changedLocked() {
	close(in.news)
	in.news = make(chan struct{})
}

// wait waits until ok holds, which is called with the lock held.
func (j *joined) wait(what string, ok func(in *inbox) bool) {
	j.t.Helper()
	for {
		j.in.mu.Lock()
		done, news := ok(j.in), j.in.news
		j.in.mu.Unlock()
		if done {
			return
		}
		select {
		case <-news:
		case <-j.ctx.Done():
			j.t.Fatalf("%s did not come in within %v", what, patience)
		}
	}
}

// received waits for n messages of members.
func (j *joined) received(n int) []channel.Inbound {
	j.t.Helper()
	var got []channel.Inbound
	j.wait(fmt.Sprintf("message %d of a member", n), func(in *inbox) bool {
		got = append(got[:0], in.got...)
		return len(got) >= n
	})
	return got
}
