package outbox_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state"
)

// stateful is a channel whose messages are in the state.
type stateful struct {
	*many
	box     *box
	fail    error // of the first change
	refused []error
	changes int
	shows   func(id string) // a durable message; may be nil
}

func (c *stateful) SendRecorded(ctx context.Context, ms []channel.Message, r channel.Recorder) []channel.Outcome {
	outs := c.SendAll(ctx, ms)
	if err := c.box.state.Do(ctx, func(t *state.Tx) error {
		c.changes++
		err := r.Record(t, outs)
		if c.changes == 1 {
			err = errors.Join(err, c.fail)
		}
		return err
	}, r.Recorded); err != nil {
		c.refused = append(c.refused, err)
		return []channel.Outcome{{Err: err}}
	}
	for _, out := range outs {
		if c.shows != nil && out.Err == nil {
			c.shows(out.Receipt.ID)
		}
	}
	return outs
}

func newStateful(t *testing.T, script func(channel.Message, int) memory.Fault) (*stateful, *book) {
	c, b := &stateful{many: newMany(script)}, newBook()
	c.box = b.open(t, outbox.Options{Channels: []channel.Channel{c}})
	return c, b
}

// recorded are the states in the records of all parts, in order.
func (b *box) recorded(t *testing.T) (states []string) {
	t.Helper()
	rows, err := b.state.Query(`SELECT state FROM part ORDER BY delivery, position`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		states = append(states, s)
	}
	return states
}

// TestAMessageOfTheStateAndItsRecordWereTwoCommits: a host that died between them sent the
// message again, and a receipt that came between them was early.
func TestAMessageOfTheStateAndItsRecordWereTwoCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := newStateful(t, nil)
		ds := words(3)
		c.shows = func(id string) {
			if got := c.box.recorded(t); slices.Contains(got, "queued") {
				t.Errorf("%s is shown, and recorded is %v", id, got)
			}
			if err := c.box.Report(t.Context(), ds[0].Address(), id, channel.StateRead); err != nil {
				t.Error(err)
			}
		}
		put(t, c.box, ds...)
		stop := run(t, c.box)
		b.settled(t, ds...)
		stop()
		for _, d := range ds {
			if p := b.of(d).Parts[0]; p.State != records.Read || p.Attempts != 1 {
				t.Errorf("%+v", p)
			}
		}
		if use := c.box.UsedBy(ds[0].Folder); use != (outbox.Use{}) {
			t.Errorf("%+v", use)
		}
	})
}

// TestARecordThatFailsWithItsMessagesIsMadeAgain, once.
func TestARecordThatFailsWithItsMessagesIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := newStateful(t, nil)
		c.fail = errors.New("refused")
		ds := words(3)
		put(t, c.box, ds...)
		stop := run(t, c.box)
		synctest.Wait()
		if diff := cmp.Diff([]string{"queued", "queued", "queued"}, c.box.recorded(t)); diff != "" {
			t.Error(diff)
		}
		b.settled(t, ds...)
		stop()
		for i, d := range ds {
			if p := b.of(d).Parts[0]; p.State != records.Sent || p.Attempts != map[bool]int{true: 2, false: 1}[i == 0] {
				t.Errorf("%+v", p)
			}
		}
		if s, err := c.box.Stats(t.Context()); err != nil || s.Sent != 3 {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

// TestWhatTheStateRefusesOfSeveralIsRecordedInOrder: one message is refused for good, and one
// for now.
func TestWhatTheStateRefusesOfSeveralIsRecordedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := newStateful(t, func(m channel.Message, attempt int) memory.Fault {
			switch {
			case m.Text == "text 1":
				return memory.Permanent()
			case m.Text == "text 3" && attempt == 1:
				return memory.Passing()
			}
			return memory.Fault{}
		})
		ds := words(6)
		put(t, c.box, ds...)
		stop := run(t, c.box)
		b.settled(t, ds...)
		stop()
		if diff := cmp.Diff([]string{"sent", "failed", "sent", "sent", "sent", "sent"}, c.box.recorded(t)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"text 0", "text 2", "text 3", "text 4", "text 5"}, shown(c.Channel)); diff != "" {
			t.Error(diff)
		}
	})
}

// atOnce runs an outbox of a channel whose messages are in the state, and puts something.
func (c *stateful) atOnce(t *testing.T, b *book, ds ...records.Delivery) (stop func()) {
	stop = run(t, c.box)
	synctest.Wait()
	put(t, c.box, ds...)
	return stop
}

// TestADeliveryAndItsMessageWereTwoCommits: the time until a message was on the page was that
// of two.
func TestADeliveryAndItsMessageWereTwoCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := newStateful(t, nil)
		ds := words(2)
		ds = append(ds, file(t, c.box, ds[0].Chat, "small.txt", "bytes"), file(t, c.box, ds[0].Chat, "other.txt", "others"))
		for i := range ds {
			ds[i].Channel = ds[0].Channel
		}
		ds[2].Parts = append(ds[2].Parts, records.Part{Text: "second part"})
		stop := c.atOnce(t, b, ds...)
		if diff := cmp.Diff([]string{"sent", "sent", "sent", "sent", "sent"}, c.box.recorded(t)); diff != "" || c.changes != 1 {
			t.Errorf("%d changes: %s", c.changes, diff)
		}
		b.settled(t, ds...)
		stop()
		for _, d := range ds {
			if p := b.of(d).Parts[0]; p.State != records.Sent || p.Attempts != 1 || p.Receipt.ID == "" {
				t.Errorf("%+v", p)
			}
			if got, err := c.box.Get(t.Context(), d.Key); err != nil || !cmp.Equal(b.of(d).Parts[0].Receipt.ID, got.Parts[0].Receipt.ID) || got.Open() {
				t.Errorf("read %+v, %v", got, err)
			}
		}
		if s, err := c.box.Stats(t.Context()); err != nil || s.Sent != 5 || s.Attempts != 5 || s.Pending != 0 || s.Chats != 0 {
			t.Errorf("%+v, %v", s, err)
		}
		if n := c.box.bytes(t); n != 0 {
			t.Errorf("the outbox keeps the bytes of %d files that are sent", n)
		}
	})
}

// bytes counts the small files in the state.
func (b *box) bytes(t *testing.T) (n int) {
	t.Helper()
	if err := b.state.QueryRow(`SELECT count(*) FROM bytes`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestWhatCannotBeSentAtOnceWaits: the change fails, the channel refuses one of three, or the
// group's rate does not allow it.
func TestWhatCannotBeSentAtOnceWaits(t *testing.T) {
	tests := []struct {
		name   string
		fail   error
		script func(channel.Message, int) memory.Fault
		rate   outbox.Rate
		call   int // the first one of the lane
		before []string
	}{
		{"the change fails", errors.New("refused"), nil, outbox.Rate{}, 2, []string{"queued", "queued", "queued"}},
		{"one has to wait", nil, func(m channel.Message, attempt int) memory.Fault {
			if m.Text == "text 1" && attempt == 1 {
				return memory.Passing()
			}
			return memory.Fault{}
		}, outbox.Rate{}, 2, []string{"sent", "queued", "queued"}},
		{"the rate allows two", nil, nil, outbox.Rate{PerMinute: 60, Burst: 2}, 1, []string{"queued", "queued", "queued"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, b := &stateful{many: newMany(tt.script), fail: tt.fail}, newBook()
				c.box = b.open(t, outbox.Options{Channels: []channel.Channel{c}, Settings: outbox.Fixed{Rate: tt.rate}})
				ds := words(3)
				ds[2] = file(t, c.box, ds[0].Chat, "small.txt", "bytes")
				ds[2].Channel = ds[0].Channel
				c.before = func() {
					if tt.call--; tt.call == 0 {
						if diff := cmp.Diff(tt.before, c.box.recorded(t)); diff != "" {
							t.Error(diff)
						}
					}
				}
				stop := c.atOnce(t, b, ds...)
				b.settled(t, ds...)
				stop()
				if diff := cmp.Diff([]string{"sent", "sent", "sent"}, c.box.recorded(t)); diff != "" {
					t.Error(diff)
				}
				if s, err := c.box.Stats(t.Context()); tt.call > 0 || err != nil || s.Sent != 3 || c.box.bytes(t) != 0 {
					t.Errorf("%+v, %v, the bytes of %d files", s, err, c.box.bytes(t))
				}
				if diff := cmp.Diff([]string{"text 0", "text 1", "small.txt"}, shown(c.Channel)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// TestWhatIsKnownIsNotSentAtOnce: it was sent before, or it failed.
func TestWhatIsKnownIsNotSentAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := newStateful(t, func(m channel.Message, attempt int) memory.Fault { return memory.Permanent() })
		ds := words(1)
		stop := c.atOnce(t, b, ds...)
		b.settled(t, ds...)
		synctest.Wait()
		c.many = newMany(nil)
		put(t, c.box, append(words(1), in("more"))...)
		b.settled(t, in("more"))
		stop()
		if diff := cmp.Diff([]string{"failed", "sent"}, c.box.recorded(t)); diff != "" || len(c.refused) != 1 {
			t.Errorf("%s, %v", diff, c.refused)
		}
	})
}

// TestWhatFollowsARefusalWasShownAsWaiting: a message behind one that the channel refuses for good was
// on the page, and its record said that it waits: it was sent again, and failed if the page had no
// room for it twice.
func TestWhatFollowsARefusalWasShownAsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := newStateful(t, func(m channel.Message, attempt int) memory.Fault {
			if m.Text == "text 0" {
				return memory.Permanent()
			}
			return memory.Fault{}
		})
		ds := words(2)
		c.shows = func(id string) {
			if c.changes == 1 { // at once
				t.Errorf("%s is shown, and recorded is %q", id, c.box.recorded(t))
			}
		}
		stop := c.atOnce(t, b, ds...)
		b.settled(t, ds...)
		stop()
		if diff := cmp.Diff([]string{"failed", "sent"}, c.box.recorded(t)); diff != "" {
			t.Error(diff)
		}
	})
}
