package outbox_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/store"
)

// An outbox of version 6 has receipts without their times. A command reads it as it is,
// the host adds what it hears from then on, and a restart forgets nothing.
func TestTimesOfReceiptsSurviveAnUpgradeAndARestart(t *testing.T) {
	ch := &fake{name: "fake"}
	ch.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		return channel.Receipt{ID: "r-" + m.Text}, nil
	}
	opts := outbox.Options{Dir: t.TempDir(), Channels: []channel.Channel{ch}}
	old := text("fake:a", "old")
	o, err := outbox.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	b := newBook()
	b.o = o
	put(t, o, old)
	stop := run(t, o)
	b.settled(t, old)
	stop()
	report := func(s channel.State) {
		t.Helper()
		if err := o.Report(t.Context(), old.Address(), "r-old", s); err != nil {
			t.Fatal(err)
		}
	}
	report(channel.StateDelivered)
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	db := sqlite(t, opts.Dir)
	execute(t, db, `ALTER TABLE part DROP COLUMN written; ALTER TABLE part DROP COLUMN delivered_at; ALTER TABLE part DROP COLUMN read_at; ALTER TABLE delivery DROP COLUMN bound; PRAGMA user_version = 6;`)
	r, err := outbox.OpenReader(t.Context(), outbox.Store(opts.Dir, store.Home{}))
	if err != nil {
		t.Fatal(err)
	}
	if seen, err := r.Get(t.Context(), old.Key); err != nil || seen.Parts[0].State != outbox.Delivered || !seen.Parts[0].DeliveredAt.IsZero() {
		t.Errorf("a look shows %+v, %v", seen, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if o, err = outbox.Open(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	report(channel.StateRead)
	first, err := o.Get(t.Context(), old.Key)
	if p := first.Parts[0]; err != nil || p.State != outbox.Read || p.ReadAt.IsZero() || !p.DeliveredAt.IsZero() {
		t.Errorf("after the upgrade: %+v, %v", p, err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	if o, err = outbox.Open(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	again, err := o.Get(t.Context(), old.Key)
	if diff := cmp.Diff(first.Parts[0].ReadAt, again.Parts[0].ReadAt); diff != "" || err != nil {
		t.Errorf("after a restart: %s, %v", diff, err)
	}
	if v := version(t, db); v != 9 {
		t.Errorf("opened as version %d", v)
	}
}
