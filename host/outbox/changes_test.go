package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
)

// next is what NextChanges hands out without waiting; nil: nothing.
func next(t *testing.T, o *box) *outbox.Changes {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c, err := o.NextChanges(ctx)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return c
}

// stands are the requests that were handed out, each with the state of its
// parts.
func stands(c *outbox.Changes) []string {
	var all []string
	for _, d := range c.All {
		s := d.Request
		for _, p := range d.Parts {
			s += " " + string(p.State)
		}
		all = append(all, s)
	}
	return all
}

// of is a text in a group's name.
func of(folder string, chat groups.JID, words ...string) records.Delivery {
	d := text(chat, words...)
	d.Folder = folder
	return d
}

func TestChangesComeNewestInTheOrderOfTheirFirstChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t, outbox.Options{Channels: []channel.Channel{&fake{name: "fake"}}})
		put(t, o, of("fam", "fake:a", "one", "two", "three"), of("fam", "fake:b", "other"), of("work", "fake:c", "theirs"))
		if c := next(t, o); c != nil {
			t.Errorf("accepted, and handed out: %v", stands(c))
		}
		run(t, o)
		synctest.Wait() // all parts are sent, and nobody has asked yet
		fam, work := next(t, o), next(t, o)
		if fam.Folder != "fam" {
			fam, work = work, fam
		}
		got := map[string]string{}
		for _, s := range append(stands(fam), stands(work)...) {
			got[s] = ""
		}
		want := map[string]string{"q-one-two-three sent sent sent": "", "q-other sent": "", "q-theirs sent": ""}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		first, second := fam.All[0], fam.All[1]
		fam.Done()
		work.Done()
		for _, d := range []outbox.Change{second, first, second} {
			report(t, o, d, channel.StateDelivered)
		}
		report(t, o, second, channel.StateRead)
		c := next(t, o)
		want2 := []string{second.Request, first.Request}
		if diff := cmp.Diff(want2, []string{c.All[0].Request, c.All[1].Request}); diff != "" {
			t.Errorf("order of the first change: %s", diff)
		}
		if s := c.All[0].Parts[len(c.All[0].Parts)-1].State; s != records.Read {
			t.Errorf("handed out as %s, after it was read", s)
		}
	})
}

// report is the receipt of a delivery's last part.
func report(t *testing.T, o *box, d outbox.Change, s channel.State) {
	t.Helper()
	if err := o.Report(t.Context(), d.Address(), d.Parts[len(d.Parts)-1].Receipt.ID, s); err != nil {
		t.Error(err)
	}
}

func TestChangesOfAGroupGoToOneReaderAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t, outbox.Options{Channels: []channel.Channel{&fake{name: "fake"}}})
		run(t, o)
		put(t, o, of("fam", "fake:a", "one"))
		synctest.Wait()
		held := next(t, o)
		put(t, o, of("fam", "fake:a", "two"), of("work", "fake:b", "theirs"))
		synctest.Wait()
		if c := next(t, o); c == nil || c.Folder != "work" {
			t.Errorf("the other group's change does not come: %v", c)
		} else {
			c.Done()
		}
		came := make(chan *outbox.Changes, 1)
		go func() {
			c, err := o.NextChanges(context.Background())
			if err != nil {
				t.Error(err)
			}
			came <- c
		}()
		synctest.Wait()
		if len(came) > 0 {
			t.Fatal("two readers have the same group")
		}
		held.Done()
		c := <-came
		defer c.Done()
		if diff := cmp.Diff([]string{"q-two sent"}, stands(c)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTheLastChangesAreHandedOutBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		ch := &fake{name: "fake"}
		ch.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			<-release
			return channel.Receipt{ID: m.ID}, nil
		}
		o := open(t, outbox.Options{Channels: []channel.Channel{ch}})
		const readers = 3
		read := make(chan string, 10)
		ended := make(chan error, readers)
		for range readers {
			go func() {
				for {
					c, err := o.NextChanges(context.Background())
					if err != nil {
						ended <- err
						return
					}
					for _, s := range stands(c) {
						read <- c.Folder + " " + s
					}
					c.Done()
				}
			}()
		}
		put(t, o, of("fam", "fake:a", "last"))
		stop := run(t, o)
		synctest.Wait()
		if len(ended) > 0 {
			t.Fatalf("it ended before Run did: %v", <-ended)
		}
		go close(release)
		stop()
		for range readers {
			if err := <-ended; !errors.Is(err, outbox.ErrEnded) {
				t.Errorf("ended with %v", err)
			}
		}
		if got := <-read; got != "fam q-last sent" {
			t.Errorf("the last change is %q", got)
		}
		run(t, o) // waits again
		synctest.Wait()
		put(t, o, of("fam", "fake:a", "more"))
		c, err := o.NextChanges(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		c.Done()
	})
}

func TestRecallHandsOutWhatChangedBeforeACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, opts := t.TempDir(), outbox.Options{Channels: []channel.Channel{&fake{name: "fake"}}}
		o := openAt(t, dir, opts)
		put(t, o, of("fam", "fake:a", "one"), of("fam", "fake:b", "two"))
		stop := run(t, o)
		synctest.Wait()
		stop()
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
		o = openAt(t, dir, opts)
		put(t, o, of("fam", "fake:c", "open"))
		if c := next(t, o); c != nil {
			t.Errorf("nobody asked, and handed out: %v", stands(c))
		}
		if err := o.Recall(t.Context(), time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		run(t, o) // the open one is sent, and so no past any more
		synctest.Wait()
		c := next(t, o)
		defer c.Done()
		past := map[string]bool{}
		for i, s := range stands(c) {
			past[s] = c.All[i].Past
		}
		if diff := cmp.Diff(map[string]bool{"q-one sent": true, "q-two sent": true, "q-open sent": false}, past); diff != "" {
			t.Error(diff)
		}
	})
}

// A start wrote a result for each delivery that waited: ten thousand files, while the first sends waited for the disk.
func TestAStartReportsNothingOfWhatWaitsForItsFirstAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, opts := t.TempDir(), outbox.Options{Channels: []channel.Channel{&fake{name: "fake"}}}
		o := openAt(t, dir, opts)
		put(t, o, of("fam", "fake:a", "same"))
		stop := run(t, o)
		synctest.Wait()
		stop()
		again := of("fam", "fake:b", "again")
		again.Request = "q-same" // whose result says that it is sent
		put(t, o, of("fam", "fake:c", "waits"), again)
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
		o = openAt(t, dir, opts)
		if err := o.Recall(t.Context(), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		c := next(t, o)
		if c == nil {
			t.Fatal("the result of an earlier request stands in the place of a new one")
		}
		defer c.Done()
		if diff := cmp.Diff([]string{"q-same queued"}, stands(c)); diff != "" {
			t.Error(diff)
		}
	})
}

// A reader that is slow, or that there is not, costs no memory for what is
// settled; it reads it from the records.
func TestChangesThatNobodyTookAreReadFromTheRecords(t *testing.T) {
	const many = 5000
	var sent sync.WaitGroup
	sent.Add(many)
	ch := &fake{name: "fake"}
	ch.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		defer sent.Done()
		return channel.Receipt{ID: m.ID}, nil
	}
	o := open(t, outbox.Options{Channels: []channel.Channel{ch}, Settings: limits(outbox.Limits{QuotaPending: many})})
	var ds []records.Delivery
	for i := range many {
		ds = append(ds, of(fmt.Sprint("g", i%3), groups.JID(fmt.Sprint("fake:", i%100)), fmt.Sprint(i)))
	}
	put(t, o, ds...)
	stop := run(t, o)
	sent.Wait()
	stop()
	n := 0
	for {
		c, err := o.NextChanges(t.Context())
		if errors.Is(err, outbox.ErrEnded) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range c.All {
			if n++; d.Open() || d.Parts[0].State != records.Sent {
				t.Fatalf("%s was handed out as %s", d.Request, d.Parts[0].State)
			}
		}
		c.Done()
	}
	if n != many {
		t.Errorf("%d of %d were handed out", n, many)
	}
}

func TestBytesOnTheirWayAreAChangeAboutOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &fake{name: "fake"}
		ch.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			for n := range int64(50) {
				time.Sleep(100 * time.Millisecond)
				m.Progress(n + 1)
			}
			return channel.Receipt{ID: m.ID}, nil
		}
		o := open(t, outbox.Options{Channels: []channel.Channel{ch}})
		put(t, o, of("fam", "fake:a", "slow"))
		run(t, o)
		var sent []int64
		for {
			c, err := o.NextChanges(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			d := c.All[0]
			c.Done()
			if !d.Open() {
				break
			}
			if n := d.Parts[0].Sent; n > 0 { // else the change is that the attempt begins
				sent = append(sent, n)
			}
		}
		if len(sent) < 4 || len(sent) > 5 || !slices.IsSorted(sent) {
			t.Errorf("in five seconds it was told of %v bytes", sent)
		}
	})
}

// Two requests under one name came in one batch: what became of the first was
// written as the result of both.
func TestTheNewestOfTwoRequestsUnderOneNameHasTheResult(t *testing.T) {
	for _, together := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			o := open(t, outbox.Options{Channels: []channel.Channel{&fake{name: "fake"}}})
			first, second, other := of("fam", "fake:a", "one"), of("fam", "fake:a", "two"), of("work", "fake:b", "one")
			second.Request = first.Request
			if together {
				put(t, o, other, first, second)
			} else {
				put(t, o, other, first)
				put(t, o, second)
			}
			run(t, o)
			got := map[string]string{}
			for range 2 {
				synctest.Wait()
				c := next(t, o)
				for _, d := range c.All {
					got[c.Folder+" "+d.Parts[0].Text] = d.Request
				}
				c.Done()
			}
			want := map[string]string{"fam one": "", "fam two": "q-one", "work one": "q-one"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("together %v: %s", together, diff)
			}
		})
	}
}
