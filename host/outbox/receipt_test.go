package outbox_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
)

// TestTimesOfReceiptsSurviveARestart: the first report's and the next ones'.
func TestTimesOfReceiptsSurviveARestart(t *testing.T) {
	ch := &fake{name: "fake"}
	ch.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		return channel.Receipt{ID: "r-" + m.Text}, nil
	}
	dir, opts := t.TempDir(), outbox.Options{Channels: []channel.Channel{ch}}
	d := text("fake:a", "old")
	b := newBook()
	o := b.openAt(t, dir, opts)
	put(t, o, d)
	stop := run(t, o)
	b.settled(t, d)
	stop()
	for _, s := range []channel.State{channel.StateDelivered, channel.StateRead} {
		if err := o.Report(t.Context(), d.Address(), "r-old", s); err != nil {
			t.Fatal(err)
		}
		before, err := o.Get(t.Context(), d.Key)
		if err := errors.Join(err, o.Close()); err != nil {
			t.Fatal(err)
		}
		o = openAt(t, dir, opts)
		after, err := o.Get(t.Context(), d.Key)
		if diff := cmp.Diff(before.Parts, after.Parts); diff != "" || err != nil || after.Parts[0].DeliveredAt.IsZero() || (s == channel.StateRead) == after.Parts[0].ReadAt.IsZero() {
			t.Errorf("after %s and a restart: %s, %v", s, diff, err)
		}
	}
}
