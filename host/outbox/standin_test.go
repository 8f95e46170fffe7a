package outbox_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
)

// standIn is in the place of a channel that is down.
type standIn struct{ *fake }

func (standIn) Repeat() channel.Repeat    { return channel.Repeat{} }
func (standIn) Connected() (bool, string) { return false, "down" }
func (standIn) Held() error               { return &channel.Error{Class: channel.Held, Code: "channel_down"} }
func (s standIn) Send(context.Context, channel.Message) (channel.Receipt, error) {
	return channel.Receipt{}, s.Held()
}

// whole is a channel that finds what it sent, and reacts.
type whole struct{ *finding }

func (whole) Connected() (bool, string)                   { return true, "" }
func (whole) React(context.Context, channel.Change) error { return nil }

// What was on its way when a channel went down was given up as uncertain, and a reaction as one that the
// channel cannot do: the channel that comes back knows better.
func TestWhatAChannelHadWhenItWentDownIsDecidedWhenItIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &fake{name: "fake"}
		up := false
		real := whole{&finding{base, func(channel.Message) (*channel.Receipt, error) {
			if !up {
				return nil, &channel.Error{Class: channel.Passing}
			}
			return &channel.Receipt{ID: "found"}, nil
		}}}
		base.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			if m.Text == "pending" {
				return channel.Receipt{ID: "later", Pending: true}, nil
			}
			return channel.Receipt{}, &channel.Error{Class: channel.Ambiguous, Code: "no_answer"}
		}
		h := channel.NewHolder(real)
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{h}})
		doubt, pending, react := text("fake:a", "doubt"), text("fake:b", "pending"), text("fake:c", "react")
		react.Parts = []records.Part{{Act: &records.Act{Verb: records.VerbReact, Target: "m1", Emoji: "👍"}}}
		put(t, o, doubt, pending)
		run(t, o)
		b.until(t, "both were tried", func() bool { return len(base.calls()) == 2 })
		h.Replace(standIn{base})
		put(t, o, react)
		time.Sleep(time.Hour)
		up = true
		h.Replace(real)
		b.settled(t, doubt, pending, react)
		for _, d := range []records.Delivery{doubt, pending, react} {
			if p := b.of(d).Parts[0]; p.State != records.Sent {
				t.Errorf("%s: %s, %s", d.Request, p.State, p.Code)
			}
		}
		if n := len(base.calls()); n != 2 {
			t.Errorf("%d sends", n)
		}
	})
}
