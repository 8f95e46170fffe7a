package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// TestCutOffSendIsTakenUpAgain stops the host while a part is on its way, and
// starts it again two hours later, when the delivery's time is over.
func TestCutOffSendIsTakenUpAgain(t *testing.T) {
	tests := []struct {
		name     string
		asks     bool
		begun    bool // the host had called Send before it stopped
		there    bool // what the platform answers
		attempts int
		state    records.State
	}{
		{"no way to ask: its attempt is repeated", false, true, false, 2, records.Sent},
		{"asked and there", true, true, true, 1, records.Sent},
		{"asked and not there, and too late to send", true, true, false, 1, records.Failed},
		{"never begun, and too late to send", true, false, false, 0, records.Failed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stopping := true
				f := &fake{name: "fake"}
				f.send = func(ctx context.Context, m channel.Message) (channel.Receipt, error) {
					if stopping {
						<-ctx.Done()
						return channel.Receipt{}, ctx.Err()
					}
					return channel.Receipt{ID: m.ID}, nil
				}
				var ch channel.Channel = f
				if tt.asks {
					ch = &finding{f, func(m channel.Message) (*channel.Receipt, error) {
						if tt.there {
							return &channel.Receipt{ID: m.ID}, nil
						}
						return nil, nil
					}}
				}
				b := newBook()
				dir, opts := t.TempDir(), outbox.Options{Channels: []channel.Channel{ch}, Settings: limits(outbox.Limits{MaxAge: time.Hour})}
				o := openAt(t, dir, opts)
				b.o = o
				d := text("fake:a", "x")
				put(t, o, d)
				if tt.begun {
					stop := run(t, o)
					synctest.Wait()
					stop()
				}
				if err := o.Close(); err != nil {
					t.Fatal(err)
				}
				stopping = false
				time.Sleep(2 * time.Hour)
				o = b.openAt(t, dir, opts)
				run(t, o)
				b.settled(t, d)
				if p := b.of(d).Parts[0]; p.State != tt.state || len(f.calls()) != tt.attempts {
					t.Errorf("%s after %d attempts", p.State, len(f.calls()))
				}
			})
		})
	}
}

// TestPlatformThatForgetsIsAsked sends through an unreliable platform that
// shows everything twice that is sent twice.
func TestPlatformThatForgetsIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New(memory.Options{Online: true, Forgets: true,
			Script: func(m channel.Message, attempt int) memory.Fault {
				switch {
				case attempt == 1 && len(m.Text)%2 == 0:
					return memory.AmbiguousAfter()
				case attempt == 1:
					return memory.AmbiguousBefore()
				case attempt == 2:
					return memory.Passing()
				}
				return memory.Fault{}
			}})
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{memory.Finding{Channel: m}}})
		var ds []records.Delivery
		var want []string
		for i := range 20 {
			w := fmt.Sprint("m", i)
			d := text("mem:a", w)
			d.Channel = "memory"
			ds, want = append(ds, d), append(want, w)
		}
		put(t, o, ds...)
		run(t, o)
		b.settled(t, ds...)
		var shown []string
		for _, s := range m.Shown(groups.JID("mem:a")) {
			shown = append(shown, s.Text)
		}
		if diff := cmp.Diff(want, shown); diff != "" {
			t.Error(diff)
		}
	})
}

// The disk took records again, but the host that ended while it waited to try once
// more did not.
func TestOutcomesAreTriedOnceMoreAtTheEnd(t *testing.T) {
	statetest.SQLiteOnly(t, "a trigger makes it fail")
	synctest.Test(t, func(t *testing.T) {
		o := open(t, outbox.Options{Channels: []channel.Channel{&fake{name: "fake"}}})
		db := statetest.Raw(t, o.dir)
		execute(t, db, `CREATE TRIGGER full BEFORE UPDATE OF state ON part BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`)
		put(t, o, text("fake:a", "x"))
		stop := run(t, o)
		synctest.Wait()
		execute(t, db, "DROP TRIGGER full")
		stop()
		var state string
		if err := db.QueryRow("SELECT state FROM part").Scan(&state); err != nil || state != "sent" {
			t.Errorf("the record says %q: %v", state, err)
		}
	})
}

// TestAClockThatWasSetBackKeepsNothingWaiting stops the host while one chat waits for its
// next attempt and another for its platform to show a message. Its clock was a day ahead,
// and is right when the next host starts: both waited for a day.
func TestAClockThatWasSetBackKeepsNothingWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := true
		f := &fake{name: "fake"}
		f.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			if fails && m.Text == "again" {
				return channel.Receipt{}, errors.New("not now")
			}
			return channel.Receipt{ID: m.ID, Pending: m.Text == "late"}, nil
		}
		b := newBook()
		dir, opts := t.TempDir(), outbox.Options{Channels: []channel.Channel{f}}
		o := openAt(t, dir, opts)
		b.o = o
		again, late, behind := text("fake:a", "again"), text("fake:b", "late"), text("fake:b", "behind")
		put(t, o, again, late, behind)
		stop := run(t, o)
		synctest.Wait()
		stop()
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
		shiftTimes(t, dir, 24*time.Hour)
		fails = false
		began := time.Now()
		o = b.openAt(t, dir, opts)
		run(t, o)
		b.settled(t, again, late, behind)
		if took := time.Since(began); took > 10*time.Minute {
			t.Errorf("they waited for %v", took)
		}
		for d, want := range map[*records.Delivery]records.State{&again: records.Sent, &late: records.Uncertain, &behind: records.Sent} {
			if p := b.of(*d).Parts[0]; p.State != want {
				t.Errorf("%s is %s", p.Text, p.State)
			}
		}
	})
}

// shiftTimes makes the times in an outbox those of a clock that was ahead.
func shiftTimes(t *testing.T, dir string, by time.Duration) {
	t.Helper()
	db := statetest.Raw(t, dir)
	for _, q := range []string{
		`UPDATE part SET next = next + ? WHERE next > 0`, `UPDATE part SET doubt = doubt + ? WHERE doubt > 0`,
		`UPDATE delivery SET created = created + ?`,
	} {
		if _, err := db.ExecContext(t.Context(), q, by.Nanoseconds()); err != nil {
			t.Fatal(err)
		}
	}
}
