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
	"github.com/longshore-bridge/longshore/host/state"
)

// stateful is a channel whose messages are in the state.
type stateful struct {
	*many
	box     *box
	fail    error // of the first change
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
			if p := b.of(d).Parts[0]; p.State != outbox.Read || p.Attempts != 1 {
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
			if p := b.of(d).Parts[0]; p.State != outbox.Sent || p.Attempts != map[bool]int{true: 2, false: 1}[i == 0] {
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
