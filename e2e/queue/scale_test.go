package queue

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
)

// stepCount counts what a host traces, and lets tests wait for it.
type stepCount struct {
	mu     sync.Mutex
	change *sync.Cond
	count  map[string]int // by "folder step", and by step alone
}

func newStepCount() *stepCount {
	s := &stepCount{count: map[string]int{}}
	s.change = sync.NewCond(&s.mu)
	return s
}

func (s *stepCount) trace(folder, _, step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count[step]++
	s.count[folder+" "+step]++
	s.change.Broadcast()
}

// wait returns once a step was seen n times.
func (s *stepCount) wait(t testing.TB, what string, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), stage.Patience)
	defer cancel()
	defer context.AfterFunc(ctx, s.change.Broadcast)()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.count[what] < n {
		if ctx.Err() != nil {
			t.Fatalf("%q was seen %d times, want %d", what, s.count[what], n)
		}
		s.change.Wait()
	}
}

// TestABacklogIsDrainedInOrderOnce: each request of 100 groups arrives in its
// own chat, once, in the order of the names, has its record and its result,
// and its file is gone.
func TestABacklogIsDrainedInOrderOnce(t *testing.T) {
	noLeaks(t)
	s := stage.NewSite(t, t.TempDir(), 100, stage.NoLimits)
	s.Fill(backlog)
	memory := memory.New(memory.Options{Online: true})
	seen := newStepCount()
	h, stop := s.Start(seen.trace, memory)
	seen.wait(t, "result", backlog)
	seen.wait(t, "unlinked", backlog)
	ctx, cancel := context.WithTimeout(t.Context(), stage.Patience)
	defer cancel()
	for i, folder := range s.Folders {
		shown := memory.Shown(groups.JID("mem:" + folder))
		if len(shown) != backlog/100 {
			t.Fatalf("%s shows %d messages, want %d", folder, len(shown), backlog/100)
		}
		for k, m := range shown {
			if want := fmt.Sprintf("%08d", i+100*k); m.Text != want {
				t.Fatalf("message %d of %s is %q, want %q", k, folder, m.Text, want)
			}
			r, err := s.Client(folder).Status(m.Text)
			if err != nil || !r.Status.Final() { // one with two results, "queued" and "sent", was counted twice
				r, err = s.Client(folder).Wait(ctx, m.Text, nil)
			}
			if err != nil || r.Status != ipc.Sent || r.MessageID != m.ID {
				t.Fatalf("%s of %s: result %+v, %v", m.Text, folder, r, err)
			}
		}
		if left, err := os.ReadDir(s.Messages(folder)); err != nil || len(left) > 0 {
			t.Errorf("left in the queue of %s: %v, %v", folder, left, err)
		}
	}
	count := 0
	for before := ""; ; {
		page, err := h.Outbox.List(t.Context(), records.Filter{Limit: 1000, Before: before})
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, d := range page {
			if before = d.Key; d.Open() {
				t.Fatalf("record %s is still open", d.Request)
			}
			count++
		}
	}
	if count != backlog {
		t.Errorf("%d records, want %d", count, backlog)
	}
	stop()
}

// TestASlowGroupDelaysNoOther: while one group's send hangs, with more behind
// it in the outbox and in the queue, its neighbour's goes out.
func TestASlowGroupDelaysNoOther(t *testing.T) {
	noLeaks(t)
	s := stage.NewSite(t, t.TempDir(), 2, "{pending: 20, free_disk: 1MiB}")
	release := make(chan struct{})
	memory := memory.New(memory.Options{Online: true, Script: func(m channel.Message, _ int) memory.Fault {
		if m.Chat == "mem:g0" {
			return memory.Until(release)
		}
		return memory.Fault{}
	}})
	seen := newStepCount()
	_, stop := s.Start(seen.trace, memory)
	for i := range 50 {
		s.Put("g0", i)
	}
	seen.wait(t, "g0 sending", 1)
	for i := range 5 {
		if r := s.Result("g1", s.Put("g1", i)); r.Status != ipc.Sent {
			t.Errorf("result %+v", r)
		}
	}
	if n := len(memory.Shown("mem:g0")); n > 0 {
		t.Errorf("%d messages of the group that hangs were shown", n)
	}
	close(release)
	seen.wait(t, "g0 result", 1)
	stop()
}

// TestAHangingChannelStopsNoOther fills every slot of one channel with sends
// that never end.
func TestAHangingChannelStopsNoOther(t *testing.T) {
	noLeaks(t)
	s := stage.NewSite(t, t.TempDir(), 10, stage.NoLimits)
	for i := 1; i < 10; i++ {
		s.Cfg.Groups[i].Chat = groups.JID(fmt.Sprintf("web:g%d", i))
	}
	good := memory.New(memory.Options{Online: true})
	bad := memory.New(memory.Options{
		Name: "bad", Prefix: "web:", Online: true,
		Script: func(channel.Message, int) memory.Fault { return memory.Hanging() },
	})
	seen := newStepCount()
	_, stop := s.Start(seen.trace, good, bad)
	for _, folder := range s.Folders[1:] {
		for i := range 10 {
			s.Put(folder, i)
		}
	}
	seen.wait(t, "recorded", 90)
	seen.wait(t, "sending", s.Cfg.Limits.Sends)
	for i := range 5 {
		if r := s.Result("g0", s.Put("g0", i)); r.Status != ipc.Sent {
			t.Errorf("result %+v", r)
		}
	}
	stop()
}

// TestOneRequestBesideTwoThousand: from the moment in which a lone request is
// recorded, at most two of a group with a backlog go before it, wherever the
// backlog lies.
func TestOneRequestBesideTwoThousand(t *testing.T) {
	const many = backlog / 5
	for where, pending := range map[string]int{"in the queue": 64, "in the outbox": many} {
		t.Run(where, func(t *testing.T) {
			noLeaks(t)
			s := stage.NewSite(t, t.TempDir(), 2, fmt.Sprintf(
				"{sends: 1, pending: %d, free_disk: 1MiB, rate: {per_minute: 100000000, burst: 1000000}}", pending))
			release := make(chan struct{})
			sent := make(chan groups.JID, many+1)
			memory := memory.New(memory.Options{Online: true, Script: func(m channel.Message, _ int) memory.Fault {
				sent <- m.Chat
				if m.Chat == "mem:g0" {
					return memory.Until(release)
				}
				return memory.Fault{}
			}})
			seen := newStepCount()
			_, stop := s.Start(seen.trace, memory)
			for i := range many {
				s.Put("g0", i)
			}
			seen.wait(t, "g0 recorded", pending)
			<-sent // the first hangs; nothing else moves
			id := s.Put("g1", 0)
			seen.wait(t, "g1 recorded", 1)
			close(release)
			before := 0
			for chat := range sent {
				if chat == "mem:g1" {
					break
				}
				before++
			}
			if before > 2 {
				t.Errorf("%d of the other group were sent before", before)
			}
			if r := s.Result("g1", id); r.Status != ipc.Sent {
				t.Errorf("result %+v", r)
			}
			stop()
		})
	}
}
