package outbox_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
)

// later is a fake whose platform takes "late" and does not show it yet.
func later() *fake {
	return &fake{name: "fake", send: func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		return channel.Receipt{ID: "r-" + m.Text, Pending: m.Text == "late"}, nil
	}}
}

var chatA = groups.Address{Channel: "fake", JID: "fake:a"}

func TestWhatThePlatformDoesNotShowYetIsLookedUpAndNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, asked := later(), 0
		ch := &finding{f, func(channel.Message) (*channel.Receipt, error) {
			switch asked++; asked {
			case 1:
				return nil, passing
			case 2:
				return nil, nil
			case 3:
				return &channel.Receipt{ID: "r-late", Pending: true}, nil
			}
			return &channel.Receipt{ID: "real"}, nil
		}}
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}})
		late, next := text("fake:a", "late"), text("fake:a", "next")
		put(t, o, late, next)
		run(t, o)
		synctest.Wait()
		if p := b.of(late).Parts[0]; p.State != records.Pending || p.Receipt.ID != "r-late" {
			t.Errorf("before it is shown: %+v", p)
		}
		if err := o.Cancel(t.Context(), late.Key); err == nil || !strings.Contains(err.Error(), outbox.ErrSending.Error()) {
			t.Errorf("what the platform has was cancelled: %v", err)
		}
		b.settled(t, late, next)
		if p := b.of(late).Parts[0]; p.State != records.Sent || p.Receipt.ID != "real" || asked != 4 {
			t.Errorf("asked %d times: %+v", asked, p)
		}
		if diff := cmp.Diff([]string{"late", "next"}, f.texts()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAReportSettlesWhatThePlatformDidNotShowYet(t *testing.T) {
	for name, tt := range map[string]struct {
		states []channel.State
		want   records.State
	}{
		"shown": {states: []channel.State{channel.StateSent}, want: records.Sent},
		"read before anybody said that it is shown": {states: []channel.State{channel.StateRead, channel.StateSent}, want: records.Read},
		"delivered": {states: []channel.State{channel.StateDelivered}, want: records.Delivered},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, b := later(), newBook()
				o := b.open(t, outbox.Options{Channels: []channel.Channel{f}})
				late, next := text("fake:a", "late"), text("fake:a", "next")
				put(t, o, late, next)
				run(t, o)
				synctest.Wait()
				start := time.Now()
				for _, s := range tt.states {
					if err := o.Report(t.Context(), chatA, "r-late", s); err != nil {
						t.Fatal(err)
					}
				}
				b.settled(t, late, next)
				if p := b.of(late).Parts[0]; p.State != tt.want || p.Receipt.ID != "r-late" || time.Since(start) != 0 {
					t.Errorf("after %v: %+v", time.Since(start), p)
				}
				if diff := cmp.Diff([]string{"late", "next"}, f.texts()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// The platform shows a message, and says so, before it answers the host.
func TestAReportMayComeBeforeThePendingReceipt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		var o *box
		f := &fake{name: "fake"}
		f.send = func(ctx context.Context, m channel.Message) (channel.Receipt, error) {
			err := o.Report(ctx, chatA, "early", channel.StateDelivered)
			return channel.Receipt{ID: "early", Pending: true}, err
		}
		o = b.open(t, outbox.Options{Channels: []channel.Channel{f}})
		d := text("fake:a", "x")
		put(t, o, d)
		start := time.Now()
		run(t, o)
		b.settled(t, d)
		if p := b.of(d).Parts[0]; p.State != records.Delivered || time.Since(start) != 0 || len(f.calls()) != 1 {
			t.Errorf("after %v and %d calls: %+v", time.Since(start), len(f.calls()), p)
		}
	})
}

func TestNobodyWaitsForeverForThePlatformToShowAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, b := later(), newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{f}})
		late, next := text("fake:a", "late"), text("fake:a", "next")
		put(t, o, late, next)
		start := time.Now()
		run(t, o)
		b.settled(t, late, next)
		if took := time.Since(start); took != 5*time.Minute {
			t.Errorf("the chat went on after %v", took)
		}
		if p := b.of(late).Parts[0]; p.State != records.Uncertain || !strings.Contains(p.Message, "did not say that it shows it") {
			t.Errorf("settled as %+v", p)
		}
		if diff := cmp.Diff([]string{"late", "next"}, f.texts()); diff != "" {
			t.Error(diff)
		}
	})
}

// The host dies while the platform has a message that it does not show yet. It
// is reported to the next host before that one sends anything.
func TestWhatIsPendingIsNotSentAgainAfterARestart(t *testing.T) {
	for name, reported := range map[string]bool{"reported": true, "looked up": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, b := later(), newBook()
				ch := &finding{f, func(m channel.Message) (*channel.Receipt, error) {
					return &channel.Receipt{ID: "r-late", Pending: reported}, nil
				}}
				dir, opts := t.TempDir(), outbox.Options{Channels: []channel.Channel{ch}}
				o := openAt(t, dir, opts)
				b.o = o
				late, next := text("fake:a", "late"), text("fake:a", "next")
				put(t, o, late, next)
				stop := run(t, o)
				synctest.Wait()
				stop()
				if err := o.Close(); err != nil {
					t.Fatal(err)
				}
				o = b.openAt(t, dir, opts)
				if reported {
					if err := o.Report(t.Context(), chatA, "r-late", channel.StateRead); err != nil {
						t.Fatal(err)
					}
				}
				run(t, o)
				b.settled(t, late, next)
				want := map[bool]records.State{true: records.Read, false: records.Sent}[reported]
				if p := b.of(late).Parts[0]; p.State != want {
					t.Errorf("settled as %+v", p)
				}
				if diff := cmp.Diff([]string{"late", "next"}, f.texts()); diff != "" {
					t.Error(diff)
				}
				if s, err := o.Stats(t.Context()); err != nil || s.Pending != 0 || s.Bytes != 0 {
					t.Errorf("%+v, %v", s, err)
				}
			})
		})
	}
}
