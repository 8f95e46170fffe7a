package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
)

// many takes several messages at once, and notes how many.
type many struct {
	memory.Together
	before func() // a call; may be nil
	after  func() // a call; may be nil

	mu    sync.Mutex
	calls []int
}

func (c *many) SendAll(ctx context.Context, ms []channel.Message) []channel.Outcome {
	c.mu.Lock()
	c.calls = append(c.calls, len(ms))
	c.mu.Unlock()
	if c.before != nil {
		c.before()
	}
	outs := c.Together.SendAll(ctx, ms)
	if c.after != nil {
		c.after()
	}
	return outs
}

func newMany(script func(channel.Message, int) memory.Fault) *many {
	return &many{Together: memory.Together{Channel: memory.New(memory.Options{Online: true, Script: script})}}
}

// words are so many deliveries of a text.
func words(n int) (ds []records.Delivery) {
	for i := range n {
		ds = append(ds, in(fmt.Sprint("text ", i)))
	}
	return ds
}

// TestWhatWaitsInAChatGoesTogether has messages fail now and then, in every way: those
// that are shown are shown once and in their order.
func TestWhatWaitsInAChatGoesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		c := newMany(func(m channel.Message, attempt int) memory.Fault {
			n++
			switch {
			case attempt > 1:
			case n%37 == 0:
				return memory.Permanent()
			case n%23 == 0:
				return memory.Passing()
			case n%17 == 0:
				return memory.AmbiguousAfter()
			case n%41 == 0:
				return memory.Held()
			}
			return memory.Fault{}
		})
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{c}})
		ds := words(300)
		put(t, o, ds...)
		stop := run(t, o)
		b.settled(t, ds...)
		stop()
		var want []string
		for i, d := range ds {
			switch p := b.of(d).Parts[0]; {
			case p.State == records.Sent && p.Attempts <= 2:
				want = append(want, fmt.Sprint("text ", i))
			case p.State != records.Failed:
				t.Errorf("%d: %+v", i, p)
			}
		}
		if diff := cmp.Diff(want, shown(c.Channel)); diff != "" || len(want) < 280 {
			t.Error(diff)
		}
		if len(c.calls) > 80 || slices.Max(c.calls) > 64 {
			t.Errorf("%d calls: %v", len(c.calls), c.calls)
		}
	})
}

// TestAPanicLeavesAllThatWereSentTogetherInDoubt: some of them may have been shown, so
// a later refusal does not make them failed.
func TestAPanicLeavesAllThatWereSentTogetherInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newMany(func(_ channel.Message, attempt int) memory.Fault {
			if attempt > 1 {
				return memory.Permanent()
			}
			return memory.Fault{}
		})
		c.after = func() {
			c.after = nil
			panic("after all are shown")
		}
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{c}})
		ds := words(5)
		put(t, o, ds...)
		stop := run(t, o)
		b.settled(t, ds...)
		stop()
		for _, d := range ds {
			if p := b.of(d).Parts[0]; p.State != records.Uncertain || p.Attempts != 2 {
				t.Errorf("%+v", p)
			}
		}
	})
}

// TestWhatIsSentTogetherIsNotCancelledMeanwhile: an operator cancels the last of three
// while they are sent, and again after the first has held them up.
func TestWhatIsSentTogetherIsNotCancelledMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newMany(func(_ channel.Message, attempt int) memory.Fault {
			if attempt == 1 {
				return memory.RetryAfter(time.Minute)
			}
			return memory.Fault{}
		})
		b, ds := newBook(), words(3)
		o := b.open(t, outbox.Options{Channels: []channel.Channel{c}})
		cancelled := make(chan error, 1)
		c.before = func() {
			c.before = nil
			cancelled <- o.Cancel(t.Context(), ds[2].Key)
		}
		put(t, o, ds...)
		stop := run(t, o)
		if err := <-cancelled; !errors.Is(err, outbox.ErrSending) {
			t.Errorf("cancelled while it is sent: %v", err)
		}
		synctest.Wait()
		if err := o.Cancel(t.Context(), ds[2].Key); err != nil {
			t.Error(err)
		}
		b.settled(t, ds...)
		stop()
		if p := b.of(ds[2]).Parts[0]; p.State != records.Cancelled || p.Attempts != 0 {
			t.Errorf("%+v", p)
		}
		if diff := cmp.Diff([]string{"text 0", "text 1"}, shown(c.Channel)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestOnlyWhatAGroupsRateAllowsGoesTogether, and nothing of two groups.
func TestOnlyWhatAGroupsRateAllowsGoesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := newMany(nil), newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{c}, Settings: outbox.Fixed{Rate: outbox.Rate{PerMinute: 60, Burst: 5}}})
		ds := words(12)
		put(t, o, ds...)
		start, stop := time.Now(), run(t, o)
		b.settled(t, ds...)
		if took := time.Since(start); len(c.calls) != 1 || c.calls[0] != 5 || took < 7*time.Second || took > 8*time.Second {
			t.Errorf("together: %v; all after %v", c.calls, took)
		}
		time.Sleep(time.Minute)
		more := []records.Delivery{in("a"), in("b"), in("c")}
		more[0].Folder = "another"
		put(t, o, more...)
		b.settled(t, more...)
		stop()
		if diff := cmp.Diff([]int{5, 2}, c.calls); diff != "" {
			t.Error(diff)
		}
	})
}
