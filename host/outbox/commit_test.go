package outbox

import (
	"container/heap"
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// TestACallerWhoGivesUpChangesNothing lets callers wait while somebody else
// commits, ends the wait of one, and wants its change undone and the other's done.
func TestACallerWhoGivesUpChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openHere(t)
		end, ended := make(chan struct{}), make(chan error, 1)
		go func() { ended <- o.state.Do(t.Context(), func(*state.Tx) error { <-end; return nil }, nil) }()
		synctest.Wait() // somebody commits
		ctx, cancel := context.WithCancel(t.Context())
		gone, kept := make(chan error, 1), make(chan error, 1)
		go func() { gone <- o.Put(ctx, []records.Delivery{delivery("1")}) }()
		go func() { kept <- o.Put(t.Context(), []records.Delivery{delivery("2")}) }()
		synctest.Wait()
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("the one who gave up got %v", err)
		}
		close(end)
		if err := errors.Join(<-ended, <-kept); err != nil {
			t.Errorf("the others got %v", err)
		}
		ds, err := o.List(t.Context(), records.Filter{})
		if err != nil || len(ds) != 1 || ds[0].Key != delivery("2").Key {
			t.Errorf("kept %v, %v", ds, err)
		}
	})
}

// TestMethodsObeyTheirContext: those that looked or changed something ignored
// it, so that a caller who had left still cancelled a delivery.
func TestMethodsObeyTheirContext(t *testing.T) {
	o := openHere(t)
	d := delivery("1")
	if err := o.Put(t.Context(), []records.Delivery{d}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range map[string]func() error{
		"Retry":      func() error { return o.Retry(ctx, d.Key) },
		"Cancel":     func() error { return o.Cancel(ctx, d.Key) },
		"Dismiss":    func() error { return o.Dismiss(ctx, d.Key) },
		"Report":     func() error { return o.Report(ctx, d.Address(), "id", channel.StateRead) },
		"Get":        func() error { _, err := o.Get(ctx, d.Key); return err },
		"Reader.Get": func() error { _, err := o.Reader().Get(ctx, d.Key); return err },
	} {
		if err := call(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if now, err := o.Get(t.Context(), d.Key); err != nil || now.Parts[0].State != records.Queued {
		t.Errorf("it is %+v, %v", now, err)
	}
}

// TestWhatIsBeingCancelledIsNotChosen: the operator comes between the
// dispatcher's choice of a lane and the reading of its next delivery.
func TestWhatIsBeingCancelledIsNotChosen(t *testing.T) {
	o := openHere(t)
	d := delivery("1")
	if err := o.Put(t.Context(), []records.Delivery{d}); err != nil {
		t.Fatal(err)
	}
	it, err := o.reader.Find(t.Context(), d.Key)
	if err != nil {
		t.Fatal(err)
	}
	ln := o.lane(d.Address(), d.Folder)
	o.finished(ln) // it is on the disk only
	delete(o.live, it.ID)
	ln.count, ln.loaded = 1, 0
	a := &attempt{ln: ln}
	ln.attempt, ln.state = a, running
	heap.Push(&o.waits, ln)
	if _, _, err := o.block(it); err != nil {
		t.Fatal(err)
	}
	if o.choose(a) {
		t.Errorf("%s was chosen", a.it.Key)
	}
	if diff := cmp.Diff(idle, ln.state); diff != "" {
		t.Error(diff)
	}
}

// TestADeliveryThatWasSettledWasListedAsOpenAgain: between a commit and what follows it in
// memory, the list took the delivery from memory.
func TestADeliveryThatWasSettledWasListedAsOpenAgain(t *testing.T) {
	o := openHere(t)
	d := delivery("1")
	if err := o.Put(t.Context(), []records.Delivery{d}); err != nil {
		t.Fatal(err)
	}
	before, err := o.reader.Find(t.Context(), d.Key)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Cancel(t.Context(), d.Key); err != nil {
		t.Fatal(err)
	}
	o.live[before.ID] = itemOf(before) // as in that moment
	all, err := o.List(t.Context(), records.Filter{})
	if err != nil || len(all) != 1 || all[0].Open() {
		t.Errorf("listed as %+v, %v", all, err)
	}
	if one, err := o.Get(t.Context(), d.Key); err != nil || one.Open() {
		t.Errorf("got as %+v, %v", one, err)
	}
	delete(o.live, before.ID)
}

func openHere(t *testing.T) *Outbox {
	t.Helper()
	o, err := Open(context.Background(), Options{State: statetest.Open(t, t.TempDir())})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

func delivery(digit string) records.Delivery {
	return records.Delivery{Key: "0000000000000000000000000000000" + digit, Folder: "family", Request: "q" + digit,
		Channel: "fake", Chat: "fake:a", Parts: []records.Part{{Text: "x"}}}
}
