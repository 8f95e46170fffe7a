package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
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

// sayer answers each attempt with the next of its errors, and then with success.
func sayer(name string, errs ...error) *fake {
	f := &fake{name: name}
	var n atomic.Int64
	f.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		if i := int(n.Add(1)) - 1; i < len(errs) && errs[i] != nil {
			return channel.Receipt{}, errs[i]
		}
		return channel.Receipt{ID: m.ID}, nil
	}
	return f
}

var (
	permanent = &channel.Error{Class: channel.Permanent, Code: "not_a_member", Message: "not a member of the chat", Hint: "invite it"}
	lost      = &channel.Error{Class: channel.Ambiguous, Message: "no answer"}
	held      = &channel.Error{Class: channel.Held, Code: "logged_out", Message: "logged out", Hint: "scan the code"}
	passing   = errors.New("connection reset by /srv/secret/socket")
)

func TestOutcomes(t *testing.T) {
	forever := func(err error) []error {
		errs := make([]error, 100000)
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	tests := []struct {
		name     string
		errs     []error
		ask      func(n int) (*channel.Receipt, error) // nil: no Finder
		state    records.State
		code     string
		attempts int // 0: any
	}{
		{name: "sent", state: records.Sent, attempts: 1},
		{name: "permanent", errs: []error{permanent}, state: records.Failed, code: "not_a_member", attempts: 1},
		{name: "passing, then sent", errs: []error{passing, passing}, state: records.Sent, attempts: 3},
		{name: "passing for ever", errs: forever(passing), state: records.Failed, code: "deadline"},
		{name: "ambiguous, repeated with the same id", errs: []error{lost}, state: records.Sent, attempts: 2},
		{name: "ambiguous for ever", errs: forever(lost), state: records.Uncertain, code: "deadline"},
		{name: "ambiguous once, then passing for ever", errs: append([]error{lost}, forever(passing)...), state: records.Uncertain, code: "deadline"},
		{name: "ambiguous, then permanent", errs: []error{lost, permanent}, state: records.Uncertain, code: "not_a_member", attempts: 2},
		{
			name: "ambiguous, found by asking", errs: forever(lost),
			ask:   func(int) (*channel.Receipt, error) { return &channel.Receipt{ID: "there"}, nil },
			state: records.Sent, attempts: 1,
		},
		{
			name: "ambiguous, not there, sent again", errs: []error{lost},
			ask:   func(int) (*channel.Receipt, error) { return nil, nil },
			state: records.Sent, attempts: 2,
		},
		{
			name: "ambiguous, nobody knows at first", errs: forever(lost),
			ask: func(n int) (*channel.Receipt, error) {
				if n < 5 {
					return nil, errors.New("no history")
				}
				return &channel.Receipt{ID: "there"}, nil
			},
			state: records.Sent, attempts: 1,
		},
		{
			name: "ambiguous, nobody ever knows", errs: forever(lost),
			ask:   func(int) (*channel.Receipt, error) { return nil, errors.New("no history") },
			state: records.Uncertain, code: "deadline", attempts: 1,
		},
		{
			name: "ambiguous, not there, then passing for ever", errs: append([]error{lost}, forever(passing)...),
			ask:   func(int) (*channel.Receipt, error) { return nil, nil },
			state: records.Failed, code: "deadline",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				f := sayer("fake", tt.errs...)
				var ch channel.Channel = f
				if tt.ask != nil {
					ch = &finding{f, func(channel.Message) (*channel.Receipt, error) { asked++; return tt.ask(asked) }}
				}
				b := newBook()
				o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}, Settings: limits(outbox.Limits{MaxAge: time.Hour})})
				d := text("fake:a", "x")
				start := time.Now()
				put(t, o, d)
				run(t, o)
				b.settled(t, d)
				p := b.of(d).Parts[0]
				if p.State != tt.state || p.Code != tt.code || tt.attempts != 0 && len(f.calls()) != tt.attempts {
					t.Errorf("settled as %s %q after %d attempts", p.State, p.Code, len(f.calls()))
				}
				if strings.Contains(fmt.Sprint(b.told), "/srv/") {
					t.Error("a host path was told")
				}
				if asked > 30 {
					t.Errorf("asked %d times in an hour", asked)
				}
				if tt.code == "deadline" && time.Since(start) != time.Hour {
					t.Errorf("given up after %v", time.Since(start))
				}
				ids := map[string]bool{}
				for _, c := range f.calls() {
					ids[c.m.ID] = true
				}
				if len(ids) != 1 {
					t.Errorf("%d message ids", len(ids))
				}
			})
		})
	}
}

func TestEachPartHasItsOwnOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := sayer("fake", nil, permanent, passing)
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{f}})
		d := text("fake:a", "one", "two", "three")
		put(t, o, d)
		run(t, o)
		b.settled(t, d)
		var states []records.State
		for _, p := range b.of(d).Parts {
			states = append(states, p.State)
		}
		if diff := cmp.Diff([]records.State{records.Sent, records.Failed, records.Sent}, states); diff != "" {
			t.Error(diff)
		}
	})
}

// withStatus is a fake with a connection.
type withStatus struct {
	*fake
	up atomic.Bool
}

func (w *withStatus) Connected() (bool, string) { return w.up.Load(), "" }

func TestTimeHeldDoesNotCountAgainstTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &withStatus{fake: &fake{name: "fake"}}
		ch.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			if !ch.up.Load() {
				return channel.Receipt{}, held
			}
			return channel.Receipt{ID: m.ID}, nil
		}
		b := newBook()
		dir := t.TempDir()
		opts := outbox.Options{Channels: []channel.Channel{ch}, Settings: limits(outbox.Limits{MaxAge: time.Hour})}
		o := openAt(t, dir, opts)
		b.o = o
		d := text("fake:a", "x")
		put(t, o, d)
		stop := run(t, o)
		time.Sleep(3 * time.Hour)
		if s, err := o.Stats(t.Context()); err != nil || len(s.Held) != 1 {
			t.Errorf("stats: %+v, %v", s, err)
		}
		if p := b.of(d).Parts[0]; p.Code != "logged_out" || p.State != records.Queued {
			t.Errorf("while held: %+v", p)
		}
		stop()
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Hour) // the host is down, the channel still held
		o = b.openAt(t, dir, opts)
		run(t, o)
		time.Sleep(time.Hour)
		if n := len(ch.calls()); n != 1 {
			t.Errorf("%d attempts while held", n)
		}
		ch.up.Store(true)
		b.settled(t, d)
		if p := b.of(d).Parts[0]; p.State != records.Sent {
			t.Errorf("settled as %+v", p)
		}
	})
}

func TestHeldChannelWithoutStatusIsTriedNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := sayer("fake", held, held, held)
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}, HoldFor: time.Minute})
		d := text("fake:a", "x")
		put(t, o, d)
		start := time.Now()
		run(t, o)
		b.settled(t, d)
		if took := time.Since(start); len(ch.calls()) != 4 || took != 3*time.Minute {
			t.Errorf("%d attempts in %v", len(ch.calls()), took)
		}
	})
}

func TestAChannelThatIsConnectedAgainEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &withStatus{fake: sayer("fake", passing)}
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}, Settings: limits(outbox.Limits{Backoff: outbox.Backoff{Initial: time.Hour, Max: time.Hour}})})
		d := text("fake:a", "x")
		put(t, o, d)
		start := time.Now()
		run(t, o)
		time.Sleep(time.Minute)
		ch.up.Store(true)
		b.settled(t, d)
		if took := time.Since(start); took > time.Minute+time.Second || len(ch.calls()) != 2 {
			t.Errorf("sent after %v, in %d attempts", took, len(ch.calls()))
		}
	})
}

func TestPanicOfAChannelIsContained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "fake"}
		f.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			if len(f.calls()) == 1 {
				panic("a nil map")
			}
			return channel.Receipt{ID: m.ID}, nil
		}
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{f}})
		d, other := text("fake:a", "x"), text("fake:b", "y")
		put(t, o, d, other)
		run(t, o)
		b.settled(t, d, other)
		if p := b.of(d).Parts[0]; p.State != records.Sent {
			t.Errorf("settled as %+v", p)
		}
	})
}

func TestHangingChatsDoNotStopTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "fake"}
		f.send = func(ctx context.Context, m channel.Message) (channel.Receipt, error) {
			if strings.HasPrefix(m.Text, "hang") {
				<-ctx.Done()
				return channel.Receipt{}, ctx.Err()
			}
			return channel.Receipt{ID: m.ID}, nil
		}
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{f, sayer("second")}, SendTimeout: time.Hour, Stall: 10 * time.Second})
		for i := range 8 {
			put(t, o, text(groups.JID(fmt.Sprint("fake:h", i)), "hang"))
		}
		well, elsewhere := text("fake:well", "well"), text("second:x", "elsewhere")
		put(t, o, well, elsewhere)
		start := time.Now()
		run(t, o)
		b.settled(t, elsewhere)
		if took := time.Since(start); took != 0 {
			t.Errorf("another channel's chat waited %v", took)
		}
		b.settled(t, well)
		if took := time.Since(start); took > 25*time.Second {
			t.Errorf("a well chat waited %v", took)
		}
	})
}

// oneSlow are settings by which one group is slow.
type oneSlow struct{ outbox.Fixed }

func (oneSlow) SendRate(folder string) outbox.Rate {
	if folder == "group-fake:slow" {
		return outbox.Rate{PerMinute: 20, Burst: 10}
	}
	return outbox.Rate{}
}

func TestRateIsTheGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "fake"}
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{f}, Settings: oneSlow{}})
		var slow, quick []records.Delivery
		for i := range 30 {
			slow = append(slow, text("fake:slow", fmt.Sprint("s", i)))
			quick = append(quick, text("fake:quick", fmt.Sprint("q", i)))
		}
		put(t, o, append(slow, quick...)...)
		start := time.Now()
		run(t, o)
		b.settled(t, quick...)
		if took := time.Since(start); took != 0 {
			t.Errorf("the unlimited group took %v", took)
		}
		b.settled(t, slow...)
		if took := time.Since(start); took < time.Minute-time.Second || took > time.Minute+time.Second {
			t.Errorf("30 sends at 20 a minute after a burst of 10 took %v", took)
		}
	})
}

func TestOneGroupCannotDelayAnother(t *testing.T) {
	var mu sync.Mutex
	var order []string
	f := &fake{name: "fake"}
	f.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, m.Text)
		return channel.Receipt{ID: m.ID}, nil
	}
	b := newBook()
	o := b.open(t, outbox.Options{Channels: []channel.Channel{f}, Settings: limits(outbox.Limits{Parallel: 1})})
	var many []records.Delivery
	for i := range 2000 {
		d := text(groups.JID(fmt.Sprint("fake:", i%50)), fmt.Sprint("m", i))
		d.Folder = "busy"
		many = append(many, d)
	}
	put(t, o, many...)
	one := text("fake:one", "one")
	put(t, o, one)
	run(t, o)
	b.settled(t, one)
	mu.Lock()
	defer mu.Unlock()
	for i, w := range order {
		if w == "one" && i > 2 {
			t.Errorf("%d sends of the busy group came before", i)
		}
	}
}

func TestSlowNeighbourDoesNotDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "fake"}
		f.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			if m.Chat == "fake:slow" {
				time.Sleep(2 * time.Second)
			}
			return channel.Receipt{ID: m.ID}, nil
		}
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{f}})
		for i := range 20 {
			put(t, o, text("fake:slow", fmt.Sprint("slow", i)))
		}
		run(t, o)
		for i := range 20 {
			time.Sleep(700 * time.Millisecond)
			d := text("fake:quick", fmt.Sprint("quick", i))
			start := time.Now()
			put(t, o, d)
			b.settled(t, d)
			if took := time.Since(start); took != 0 {
				t.Errorf("waited %v for a neighbour", took)
			}
		}
	})
}
