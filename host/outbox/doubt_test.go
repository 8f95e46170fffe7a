package outbox_test

import (
	"context"
	"database/sql"
	_ "embed"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
)

// in is a delivery to the memory channel.
func in(words ...string) records.Delivery {
	d := text("mem:a", words...)
	d.Channel = "memory"
	return d
}

// shown are the texts that members of mem:a see.
func shown(m *memory.Channel) []string {
	var texts []string
	for _, s := range m.Shown("mem:a") {
		texts = append(texts, s.Text)
	}
	return texts
}

// The channel of a delivery was taken out of the configuration: the delivery waits, and
// its reason is said.
func TestADeliveryOfAChannelThatIsGoneWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{memory.New(memory.Options{Online: true})}})
		d := text("gone:a", "hello")
		d.Channel = "gone"
		put(t, o, d)
		run(t, o)
		b.until(t, "a reason", func() bool { return len(b.last[d.Key].Parts) > 0 && b.last[d.Key].Parts[0].Code == "no_channel" })
		if got := b.of(d); !got.Open() {
			t.Errorf("it has ended: %+v", got)
		}
	})
}

func TestALostAnswerOfABlindChannelDoesNotWedgeItsChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New(memory.Options{Online: true, Forgets: true})
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{memory.Blind{Channel: m}}})
		m.Next(memory.AmbiguousAfter(), memory.AmbiguousBefore())
		arrived, swallowed, next := in("arrived"), in("swallowed"), in("next")
		put(t, o, arrived, swallowed, next)
		start := time.Now()
		run(t, o)
		b.settled(t, arrived, swallowed, next)
		if took := time.Since(start); took != 0 {
			t.Errorf("the chat went on after %v", took)
		}
		for _, d := range []records.Delivery{arrived, swallowed} {
			if p := b.of(d).Parts[0]; p.State != records.Uncertain || p.Code != "no_answer" || !strings.Contains(p.Message, "may or may not have arrived") || p.Hint == "" {
				t.Errorf("%s: %s, %q, %q; %q", d.Request, p.State, p.Code, p.Message, p.Hint)
			}
		}
		if p := b.of(next).Parts[0]; p.State != records.Sent {
			t.Errorf("what waited behind: %+v", p)
		}
		if diff := cmp.Diff([]string{"arrived", "next"}, shown(m)); diff != "" {
			t.Error(diff)
		}
		// An operator who has looked into the chat may send it once more.
		if err := o.Retry(t.Context(), swallowed.Key); err != nil {
			t.Fatal(err)
		}
		b.settled(t, swallowed)
		if p := b.of(swallowed).Parts[0]; p.State != records.Sent {
			t.Errorf("after the retry: %+v", p)
		}
		if diff := cmp.Diff([]string{"arrived", "next", "swallowed"}, shown(m)); diff != "" {
			t.Error(diff)
		}
	})
}

// preparing is a blind channel that uploads files before members see them.
type preparing struct {
	memory.Blind
	prepare func(ctx context.Context, m channel.Message) error
}

func (p preparing) Prepare(ctx context.Context, m channel.Message) error { return p.prepare(ctx, m) }

// A host that died while it uploaded a file to where no member looks left the delivery
// uncertain.
func TestAHostThatDiesBeforeAMemberCanSeeTheFileSendsItAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New(memory.Options{Online: true, Forgets: true})
		var calls atomic.Int64
		uploading := make(chan struct{})
		ch := preparing{memory.Blind{Channel: m}, func(ctx context.Context, m channel.Message) error {
			switch calls.Add(1) {
			case 1:
				return &channel.Error{Class: channel.Ambiguous, Code: "no_answer", Message: "the answer was lost"}
			case 2:
				close(uploading)
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}}
		b, dir, opts := newBook(), t.TempDir(), outbox.Options{Channels: []channel.Channel{ch}}
		o := openAt(t, dir, opts)
		b.o = o
		d := file(t, o, "mem:a", "report.txt", "the report")
		d.Channel = "memory"
		put(t, o, d)
		stop := run(t, o)
		<-uploading
		stop()
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
		o = b.openAt(t, dir, opts)
		run(t, o)
		b.settled(t, d)
		if p := b.of(d).Parts[0]; p.State != records.Sent || calls.Load() != 3 || len(m.Shown("mem:a")) != 1 {
			t.Errorf("%s, %s after %d uploads; members see %+v", p.State, p.Message, calls.Load(), m.Shown("mem:a"))
		}
	})
}

func TestABlindChannelIsRetriedIfNothingWasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New(memory.Options{Online: true, Forgets: true})
		b := newBook()
		dir := t.TempDir()
		opts := outbox.Options{Channels: []channel.Channel{memory.Blind{Channel: m}}}
		o := openAt(t, dir, opts)
		b.o = o
		m.Next(memory.Passing(), memory.Passing())
		d := in("x")
		put(t, o, d)
		stop := run(t, o)
		synctest.Wait()
		stop()
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
		o = b.openAt(t, dir, opts)
		run(t, o)
		b.settled(t, d)
		if p := b.of(d).Parts[0]; p.State != records.Sent || len(m.Attempts()) != 3 {
			t.Errorf("%s after %d attempts", p.State, len(m.Attempts()))
		}
	})
}

// The platform refused for a while just as the host ended. The mark of the
// attempt stayed, so the next host called the part uncertain.
func TestABlindChannelRefusesForAWhileAsTheHostEnds(t *testing.T) {
	for _, class := range []channel.Class{channel.Passing, channel.Held} {
		t.Run(class.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { refusesAsTheHostEnds(t, class) })
		})
	}
}

func refusesAsTheHostEnds(t *testing.T, class channel.Class) {
	m := memory.New(memory.Options{Online: true, Forgets: true})
	ch := refusing{memory.Blind{Channel: m}, class}
	b, dir, opts := newBook(), t.TempDir(), outbox.Options{Channels: []channel.Channel{ch}}
	o := openAt(t, dir, opts)
	b.o = o
	d := in("x")
	put(t, o, d)
	stop := run(t, o)
	synctest.Wait()
	stop()
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	opts.Channels[0] = ch.Blind
	o = b.openAt(t, dir, opts)
	run(t, o)
	b.settled(t, d)
	if p := b.of(d).Parts[0]; p.State != records.Sent {
		t.Errorf("%s: %s", p.State, p.Message)
	}
}

// refusing is a channel that says that it sent nothing once the host ends.
type refusing struct {
	memory.Blind
	class channel.Class
}

func (r refusing) Send(ctx context.Context, _ channel.Message) (channel.Receipt, error) {
	<-ctx.Done()
	return channel.Receipt{}, &channel.Error{Class: r.class, Message: "the platform is not available"}
}

// The host dies while a part is on its way through a blind channel.
func TestABlindChannelShowsNothingTwiceAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New(memory.Options{Online: true, Forgets: true})
		b := newBook()
		dir, opts := t.TempDir(), outbox.Options{Channels: []channel.Channel{memory.Blind{Channel: m}}}
		o := openAt(t, dir, opts)
		b.o = o
		m.Next(memory.Fault{Shown: true, Hang: true})
		cut, next := in("cut"), in("next")
		put(t, o, cut, next)
		stop := run(t, o)
		synctest.Wait()
		stop()
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
		o = b.openAt(t, dir, opts)
		run(t, o)
		b.settled(t, cut, next)
		if p := b.of(cut).Parts[0]; p.State != records.Uncertain || b.of(next).Parts[0].State != records.Sent {
			t.Errorf("settled as %+v", p)
		}
		if diff := cmp.Diff([]string{"cut", "next"}, shown(m)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAKeyHelpsForItsTimeOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New(memory.Options{Online: true})
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{memory.Blind{Channel: m, Keyed: 5 * time.Minute}}})
		m.Next(memory.AmbiguousAfter(), memory.Passing())
		within := in("within")
		put(t, o, within)
		run(t, o)
		b.settled(t, within)
		if p := b.of(within).Parts[0]; p.State != records.Sent || len(m.Attempts()) != 3 {
			t.Errorf("%s after %d attempts", p.State, len(m.Attempts()))
		}
		m.Next(memory.AmbiguousAfter())
		for range 50 {
			m.Next(memory.Passing())
		}
		start := time.Now()
		beyond := in("beyond")
		put(t, o, beyond)
		b.settled(t, beyond)
		if p, took := b.of(beyond).Parts[0], time.Since(start); p.State != records.Uncertain || took < 5*time.Minute || took > 15*time.Minute {
			t.Errorf("%s after %v", p.State, took)
		}
	})
}

func TestAPermanentAnswerToTheQuestionEndsTheDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := &channel.Error{Class: channel.Permanent, Code: "no_history", Message: "the platform has no history"}
		f := sayer("fake", lost)
		ch := &finding{f, func(channel.Message) (*channel.Receipt, error) { return nil, never }}
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}})
		d, next := text("fake:a", "x"), text("fake:a", "next")
		put(t, o, d, next)
		start := time.Now()
		run(t, o)
		b.settled(t, d, next)
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("the chat went on after %v", took)
		}
		if p := b.of(d).Parts[0]; p.State != records.Uncertain || !strings.Contains(p.Message, "may or may not have arrived") {
			t.Errorf("settled as %+v", p)
		}
		if p := b.of(next).Parts[0]; p.State != records.Sent {
			t.Errorf("what waited behind: %+v", p)
		}
	})
}

// A channel's own code is a word for people. It once was the bit that says
// whether a part may have been shown.
func TestACodeOfTheChannelIsNoDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unanswered := &channel.Error{Class: channel.Passing, Code: "no_answer", Message: "the platform's door is closed"}
		refused := &channel.Error{Class: channel.Permanent, Code: "no_answer", Message: "nobody lives there"}
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{sayer("fake", unanswered, refused)}})
		d := text("fake:a", "x")
		put(t, o, d)
		run(t, o)
		b.settled(t, d)
		if p := b.of(d).Parts[0]; p.State != records.Failed {
			t.Errorf("what was never sent is %s", p.State)
		}
	})
}

func execute(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatal(err)
	}
}

// TestTheClassOfAnErrorOfTheQuestionCounts: a channel that is held, or that
// wants to be left alone, may say so when it is asked, too.
func TestTheClassOfAnErrorOfTheQuestionCounts(t *testing.T) {
	later := &channel.Error{Message: "slow down", RetryAfter: 77 * time.Second}
	for name, tt := range map[string]struct {
		err  error
		wait time.Duration
		held []string
	}{
		"held":          {held, 30 * time.Second, []string{"fake"}},
		"retry after":   {later, 77 * time.Second, nil},
		"nothing known": {passing, 2 * time.Second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked []time.Time
				ch := &finding{sayer("fake", lost), func(channel.Message) (*channel.Receipt, error) {
					asked = append(asked, time.Now())
					if len(asked) == 1 {
						return nil, tt.err
					}
					return &channel.Receipt{ID: "there"}, nil
				}}
				b := newBook()
				o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}, Settings: limits(outbox.Limits{Backoff: outbox.Backoff{Jitter: -1}})})
				d := text("fake:a", "x")
				put(t, o, d)
				run(t, o)
				time.Sleep(1500 * time.Millisecond) // sent, and asked once
				synctest.Wait()
				s, err := o.Stats(t.Context())
				if diff := cmp.Diff(tt.held, s.Held); diff != "" || err != nil || len(asked) != 1 {
					t.Errorf("%v, asked %d times: %s", err, len(asked), diff)
				}
				b.settled(t, d)
				if p := b.of(d).Parts[0]; p.State != records.Sent || len(asked) != 2 || asked[1].Sub(asked[0]) != tt.wait {
					t.Errorf("%s, asked at %v", p.State, asked)
				}
			})
		})
	}
}
