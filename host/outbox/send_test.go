package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
)

func TestDeliverySentWithItsFile(t *testing.T) {
	var got string
	ch := &fake{name: "fake"}
	ch.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		var err error
		got, err = read(m.Files[0])
		return channel.Receipt{ID: "platform-7"}, err
	}
	b := newBook()
	var steps []string
	o := b.open(t, outbox.Options{Channels: []channel.Channel{ch},
		Trace: func(_, _, step string) { steps = append(steps, step) }})
	d := file(t, o, "fake:a", "report.txt", "the bytes")
	put(t, o, d)
	stop := run(t, o)
	b.settled(t, d)
	stop()

	p := b.of(d).Parts[0]
	if got != "the bytes" || p.State != records.Sent || p.Receipt.ID != "platform-7" || p.Files[0].Blob != "" {
		t.Errorf("received %q, settled as %+v", got, p)
	}
	if diff := cmp.Diff([]string{"sending", "acknowledged", "settled"}, steps); diff != "" {
		t.Error(diff)
	}
	if n := len(blobs(t, o)); n != 0 {
		t.Errorf("%d blobs remain", n)
	}
}

func TestOrderIsOfAcceptancePerChat(t *testing.T) {
	for _, asks := range []bool{false, true} {
		t.Run(fmt.Sprint("asker=", asks), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { orderProperty(t, asks) })
		})
	}
}

// orderProperty puts texts into chats while the channel now and then fails,
// and wants each chat to show its own in the order of Put, each once.
func orderProperty(t *testing.T, asks bool) {
	const chats, each = 7, 90
	var n atomic.Int64
	shown := make([][]string, chats)
	f := &fake{name: "fake"}
	f.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		k := n.Add(1)
		if k%11 == 0 {
			return channel.Receipt{}, errors.New("passing")
		}
		time.Sleep(time.Duration(k%5) * time.Millisecond)
		var chat int
		fmt.Sscanf(string(m.Chat), "fake:%d", &chat)
		shown[chat] = append(shown[chat], m.Text)
		return channel.Receipt{ID: m.ID}, nil
	}
	var ch channel.Channel = f
	if asks {
		ch = &finding{f, func(channel.Message) (*channel.Receipt, error) { return nil, nil }}
	}
	b := newBook()
	o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}, Settings: limits(outbox.Limits{MaxAge: 1000 * time.Hour})})
	var ds []records.Delivery
	want := make([][]string, chats)
	half := func(from, to int) {
		for i := from; i < to; i++ {
			for c := range chats {
				w := []string{fmt.Sprint(c, "-", i, "a"), fmt.Sprint(c, "-", i, "b")}
				d := text(groups.JID(fmt.Sprint("fake:", c)), w...)
				want[c] = append(want[c], w...)
				ds = append(ds, d)
				put(t, o, d)
			}
		}
	}
	half(0, each/2)
	stop := run(t, o)
	half(each/2, each)
	b.settled(t, ds...)
	stop()
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Error(diff)
	}
}

func TestPassingErrorWaitsLongerEachTimeAndHoldsItsChatOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		ch := &fake{name: "fake"}
		ch.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			if m.Text == "stubborn" {
				if tries++; tries < 6 {
					return channel.Receipt{}, errors.New("later")
				}
			}
			return channel.Receipt{ID: m.ID}, nil
		}
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{ch},
			Settings: limits(outbox.Limits{Backoff: outbox.Backoff{Jitter: -1, Max: 10 * time.Second}})})
		first, behind, other := text("fake:a", "stubborn"), text("fake:a", "behind"), text("fake:b", "other")
		put(t, o, first, behind, other)
		start := time.Now()
		stop := run(t, o)
		b.settled(t, first, behind, other)
		stop()
		var at []time.Duration
		ids := map[string]bool{}
		for _, s := range ch.calls() {
			if s.m.Text == "stubborn" {
				at = append(at, s.at.Sub(start))
				ids[s.m.ID] = true
			}
		}
		want := []time.Duration{0, 1 * time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second, 25 * time.Second}
		if diff := cmp.Diff(want, at); diff != "" || len(ids) != 1 {
			t.Errorf("%d message ids; attempts: %s", len(ids), diff)
		}
		texts := ch.texts()
		if slices.Index(texts, "other") > 2 || texts[len(texts)-1] != "behind" {
			t.Errorf("order of attempts: %q", texts)
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &fake{name: "fake"}
		ch.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			if len(ch.calls()) == 1 {
				return channel.Receipt{}, &channel.Error{Message: "slow down", RetryAfter: 77 * time.Second}
			}
			return channel.Receipt{ID: m.ID}, nil
		}
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}})
		d := text("fake:a", "x")
		put(t, o, d)
		run(t, o)
		b.settled(t, d)
		if c := ch.calls(); len(c) != 2 || c[1].at.Sub(c[0].at) != 77*time.Second {
			t.Errorf("attempts: %v", c)
		}
	})
}
