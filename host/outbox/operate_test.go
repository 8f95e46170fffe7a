package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/host/store"
)

func TestSameKeyIsKeptOnce(t *testing.T) {
	for name, content := range map[string]string{"small": "bytes", "large": large("bytes")} {
		t.Run(name, func(t *testing.T) { sameKeyIsKeptOnce(t, content) })
	}
}

func sameKeyIsKeptOnce(t *testing.T, content string) {
	ch := &fake{name: "fake"}
	b := newBook()
	o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}})
	first := file(t, o, "fake:a", "x", content)
	again := file(t, o, "fake:a", "x", content)
	put(t, o, first)
	put(t, o, again) // found again after a crash: copied anew
	put(t, o, first) // the very same, after an answer that got lost
	if kept := blobs(t, o); len(kept) != 1 || !strings.HasPrefix(first.Parts[0].Files[0].Blob, kept[0]) {
		t.Errorf("kept %q", kept)
	}
	stop := run(t, o)
	b.settled(t, first)
	stop() // with the bytes of what is settled gone
	put(t, o, again)
	if texts := ch.texts(); len(texts) != 1 || len(blobs(t, o)) != 0 {
		t.Errorf("sent: %q, kept %q", texts, blobs(t, o))
	}
}

func TestPutKeepsAllOrNothing(t *testing.T) {
	o := open(t, outbox.Options{})
	good := text("fake:a", "good")
	for name, bad := range map[string]records.Delivery{
		"no key":   {Channel: "fake", Chat: "fake:a", Parts: []records.Part{{}}},
		"no parts": {Key: key(1), Channel: "fake", Chat: "fake:a"},
		"no chat":  {Key: key(2), Channel: "fake", Parts: []records.Part{{}}},
		"no bytes": {Key: key(3), Channel: "fake", Chat: "fake:a", Parts: []records.Part{{Files: []records.File{{Blob: "../../x"}}}}},
	} {
		if err := o.Put(context.Background(), []records.Delivery{good, bad}); err == nil {
			t.Errorf("%s: was taken", name)
		}
	}
	if ds, err := o.List(context.Background(), records.Filter{}); err != nil || len(ds) != 0 {
		t.Errorf("kept %v, %v", ds, err)
	}
}

func TestReceiptsRefineAndNeverGoBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		var o *box
		ch := &fake{name: "fake"}
		ch.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			if m.Text == "quick" { // the device is quicker than the platform
				if err := o.Report(context.Background(), groups.Address{Channel: "fake", JID: m.Chat}, "r-quick", channel.StateDelivered); err != nil {
					t.Error(err)
				}
			}
			return channel.Receipt{ID: "r-" + m.Text}, nil
		}
		o = b.open(t, outbox.Options{Channels: []channel.Channel{ch}})
		slow, quick := text("fake:a", "slow"), text("fake:b", "quick")
		put(t, o, slow, quick)
		run(t, o)
		b.settled(t, slow, quick)
		report := func(chat groups.JID, id string, s channel.State, want records.State) {
			t.Helper()
			if err := o.Report(context.Background(), groups.Address{Channel: "fake", JID: chat}, id, s); err != nil {
				t.Error(err)
			}
			if p := b.of(slow).Parts[0]; p.State != want {
				t.Errorf("%s, want %s", p.State, want)
			}
		}
		report("fake:b", "r-slow", channel.StateRead, records.Sent) // another chat's id
		report("fake:a", "unknown", channel.StateRead, records.Sent)
		delivered := time.Now()
		report("fake:a", "r-slow", channel.StateDelivered, records.Delivered)
		time.Sleep(time.Minute)
		report("fake:a", "r-slow", channel.StateRead, records.Read)
		time.Sleep(time.Minute)
		report("fake:a", "r-slow", channel.StateDelivered, records.Read)
		if p := b.of(slow).Parts[0]; !p.DeliveredAt.Equal(delivered) || !p.ReadAt.Equal(delivered.Add(time.Minute)) {
			t.Errorf("delivered at %v and read at %v, want %v and a minute later", p.DeliveredAt, p.ReadAt, delivered)
		}
		if p := b.of(quick).Parts[0]; p.State != records.Delivered || p.DeliveredAt.IsZero() || !p.ReadAt.IsZero() {
			t.Errorf("the early receipt was lost: %+v", p)
		}
	})
}

func TestOperatorRetriesAndDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		b := newBook()
		ch := &fake{name: "fake"}
		broken := true
		ch.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			if broken && m.Text == "bad" {
				return channel.Receipt{}, permanent
			}
			if m.Text == "stuck" {
				return channel.Receipt{}, passing
			}
			return channel.Receipt{ID: m.ID}, nil
		}
		o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}})
		bad, stuck, behind := file(t, o, "fake:a", "bad", "bytes"), text("fake:b", "stuck"), text("fake:b", "behind")
		put(t, o, bad, stuck, behind)
		run(t, o)
		b.settled(t, bad)
		synctest.Wait() // until stuck has been tried
		if s, err := o.Stats(ctx); err != nil || s.Retained != 5 || s.Pending != 2 || s.Failed != 1 {
			t.Errorf("stats: %+v, %v", s, err)
		}
		if err := o.Retry(ctx, stuck.Key); !errors.Is(err, records.ErrOpen) {
			t.Errorf("retry of what waits: %v", err)
		}
		if err := o.Cancel(ctx, bad.Key[:8]); !errors.Is(err, records.ErrSettled) {
			t.Errorf("drop of what failed: %v", err)
		}
		if err := o.Cancel(ctx, "nothing"); !errors.Is(err, records.ErrNotFound) {
			t.Errorf("drop of nothing: %v", err)
		}
		broken = false
		if err := o.Retry(ctx, bad.Request); err != nil {
			t.Fatal(err)
		}
		b.settled(t, bad)
		synctest.Wait() // until stuck waits for its next attempt
		if err := o.Cancel(ctx, stuck.Request); err != nil {
			t.Fatal(err)
		}
		b.settled(t, stuck, behind)
		states := fmt.Sprintf("%s %s %s", b.of(bad).Parts[0].State, b.of(stuck).Parts[0].State, b.of(behind).Parts[0].State)
		if states != "sent dropped sent" {
			t.Errorf("ended as %s", states)
		}
		if s, err := o.Stats(ctx); err != nil || s.Retained != 0 || s.Pending != 0 || s.Chats != 0 {
			t.Errorf("stats: %+v, %v", s, err)
		}
	})
}

func TestDropOfWhatIsBeingSentIsRefused(t *testing.T) {
	b := newBook()
	begun, release := make(chan struct{}), make(chan struct{})
	ch := &fake{name: "fake"}
	ch.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		close(begun)
		<-release
		return channel.Receipt{ID: m.ID}, nil
	}
	o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}})
	d := text("fake:a", "x")
	put(t, o, d)
	run(t, o)
	<-begun
	if err := o.Cancel(context.Background(), d.Key); !errors.Is(err, outbox.ErrSending) {
		t.Errorf("dropped: %v", err)
	}
	if now, err := o.Get(context.Background(), d.Key); err != nil || now.Parts[0].State != records.Sending {
		t.Errorf("under way: %+v, %v", now, err)
	}
	close(release)
	b.settled(t, d)
}

func TestListAndRecall(t *testing.T) {
	ctx := context.Background()
	b := newBook()
	ch := &fake{name: "fake"}
	ch.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		switch {
		case strings.HasPrefix(m.Text, "bad"):
			return channel.Receipt{}, permanent
		case strings.HasPrefix(m.Text, "stuck"):
			return channel.Receipt{}, passing
		}
		return channel.Receipt{ID: m.ID}, nil
	}
	o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}})
	var ds []records.Delivery
	for _, w := range []string{"good1", "bad1", "good2", "bad2", "stuck"} {
		ds = append(ds, text(groups.JID("fake:"+w), w))
	}
	put(t, o, ds...)
	run(t, o)
	b.settled(t, ds[:4]...)
	b.until(t, "the first attempt at what is stuck", func() bool {
		parts := b.last[ds[4].Key].Parts
		return len(parts) > 0 && parts[0].Attempts > 0
	})
	tests := []struct {
		name string
		f    records.Filter
		want []string
	}{
		{"all", records.Filter{}, []string{"stuck", "bad2", "good2", "bad1", "good1"}},
		{"failed", records.Filter{State: "failed"}, []string{"bad2", "bad1"}},
		{"open", records.Filter{State: "open"}, []string{"stuck"}},
		{"of a group", records.Filter{Folder: "group-fake:bad1"}, []string{"bad1"}},
		{"a page", records.Filter{Limit: 2}, []string{"stuck", "bad2"}},
		{"the oldest", records.Filter{Limit: 2, Oldest: true}, []string{"good1", "bad1"}},
		{"the oldest, the next page", records.Filter{Limit: 2, Oldest: true, Before: ds[1].Key}, []string{"good2", "bad2"}},
		{"the next page", records.Filter{Limit: 2, Before: ds[3].Key}, []string{"good2", "bad1"}},
	}
	for _, tt := range tests {
		got, err := o.List(ctx, tt.f)
		if err != nil {
			t.Error(err)
		}
		var texts []string
		for _, d := range got {
			texts = append(texts, d.Parts[0].Text)
		}
		if diff := cmp.Diff(tt.want, texts); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	view, err := store.Look(t.Context(), statetest.Spec(o.dir)) // as a command would, beside the host
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	other, err := records.NewReader(t.Context(), view.DB)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if all, err := other.List(ctx, records.Filter{}); err != nil || len(all) != 5 {
		t.Errorf("a command sees %d deliveries, %v", len(all), err)
	}
	for since, want := range map[time.Time]int{time.Now().Add(time.Hour): 1, time.Now().Add(-time.Hour): 5} {
		b.readAll()
		if err := o.Recall(ctx, since); err != nil {
			t.Error(err)
		}
		b.told = nil
		b.readAll()
		if n := len(b.told); n != want {
			t.Errorf("%d recalled, want %d", n, want)
		}
	}
}

func TestOldRecordsAndOldBytesAreForgotten(t *testing.T) {
	for name, content := range map[string]string{"small": "four", "large": large("four")} {
		t.Run(name, func(t *testing.T) { oldIsForgotten(t, content) })
	}
}

func oldIsForgotten(t *testing.T, content string) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		ch := &fake{name: "fake"}
		ch.send = func(context.Context, channel.Message) (channel.Receipt, error) { return channel.Receipt{}, permanent }
		o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}, Settings: limits(outbox.Limits{QuotaBytes: int64(2*len(content) + 2), Retention: 24 * time.Hour})})
		run(t, o)
		var last records.Delivery
		for i := range 4 {
			last = file(t, o, "fake:a", fmt.Sprint(i), content)
			put(t, o, last)
			b.settled(t, last)
		}
		synctest.Wait()
		if n := len(blobs(t, o)); n != 2 {
			t.Errorf("%d failed files kept, where there is room for two", n)
		}
		if err := o.Retry(t.Context(), "q-0"); !errors.Is(err, records.ErrNoBytes) {
			t.Errorf("retry without bytes: %v", err)
		}
		time.Sleep(26 * time.Hour)
		synctest.Wait()
		if ds, err := o.List(t.Context(), records.Filter{}); err != nil || len(ds) != 0 || len(blobs(t, o)) != 0 {
			t.Errorf("kept %d records, %v, %d files", len(ds), err, len(blobs(t, o)))
		}
	})
}

// A start first read what the trail lacked, and deleted all old records: the first message waited for it.
func TestAStartDeletedOldRecordsBeforeItSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, sweep := newBook(), make(chan struct{})
		o := b.open(t, outbox.Options{Channels: []channel.Channel{&fake{name: "fake"}}, Settings: limits(outbox.Limits{Retention: time.Hour}), Sweep: sweep})
		run(t, o)
		for i := range 2 {
			one := text("fake:a", fmt.Sprint(i))
			put(t, o, one)
			b.settled(t, one)
			time.Sleep(40 * time.Minute)
		}
		records := func() int {
			t.Helper()
			synctest.Wait()
			all, err := o.List(t.Context(), records.Filter{})
			if err != nil {
				t.Fatal(err)
			}
			return len(all)
		}
		if n := records(); n != 2 {
			t.Errorf("%d records before the sweep", n)
		}
		if close(sweep); records() != 1 {
			t.Errorf("%d records after it", records())
		}
	})
}

// TestBacklogStaysOnDisk wants the memory of a long backlog, and of many
// chats, to be that of their heads.
func TestBacklogStaysOnDisk(t *testing.T) {
	const n, chats = 3_000, 20
	ch := &fake{name: "fake"}
	ch.send = func(context.Context, channel.Message) (channel.Receipt, error) {
		return channel.Receipt{}, &channel.Error{Message: "later", RetryAfter: time.Hour}
	}
	b := newBook()
	o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}})
	run(t, o)
	before := heap()
	for at := 0; at < n; at += 1000 {
		ds := make([]records.Delivery, 1000)
		for i := range ds {
			ds[i] = text(groups.JID(fmt.Sprint("fake:", i%chats)), fmt.Sprint(at+i)+strings.Repeat(" words", 200))
		}
		put(t, o, ds...)
	}
	if grown := heap() - before; grown > 3<<20 {
		t.Errorf("%d deliveries that wait take %d KiB of memory", n, grown>>10)
	}
	if s, err := o.Stats(context.Background()); err != nil || s.Pending != n || s.Chats != chats {
		t.Errorf("stats: %+v, %v", s, err)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestAnOperatorDismissesAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		b := newBook()
		ch := &fake{name: "fake", send: func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			if m.Text == "bad" {
				return channel.Receipt{}, permanent
			}
			return channel.Receipt{ID: m.ID}, nil
		}}
		o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}})
		bad, good := file(t, o, "fake:a", "bad", "bytes"), text("fake:a", "good")
		put(t, o, bad, good)
		stop := run(t, o)
		b.settled(t, bad, good)
		stop()
		if err := o.Dismiss(ctx, bad.Key); err != nil {
			t.Fatal(err)
		}
		if left, err := o.List(ctx, records.Filter{State: records.FilterFailed}); err != nil || len(left) != 0 {
			t.Errorf("still listed as failed: %v, %v", left, err)
		}
		d, err := o.Get(ctx, bad.Key)
		if err != nil || d.Parts[0].State != records.Failed || d.Parts[0].Files[0].Blob != "" {
			t.Errorf("on record: %+v, %v", d.Parts, err)
		}
		if s, err := o.Stats(ctx); err != nil || s.Retained != 0 {
			t.Errorf("its bytes are kept: %+v, %v", s, err)
		}
		for _, again := range []string{bad.Key, good.Key} {
			if err := o.Dismiss(ctx, again); !errors.Is(err, records.ErrSettled) {
				t.Errorf("dismiss of what did not fail: %v", err)
			}
		}
	})
}

type room struct {
	outbox.Fixed
	bytes atomic.Int64
}

func (r *room) OutboxLimits() outbox.Limits {
	return outbox.Limits{QuotaBytes: r.bytes.Load(), QuotaPending: 1000}
}

// TestManyFailedFilesWereForgottenInOneCommit, for which all others waited.
func TestManyFailedFilesWereForgottenInOneCommit(t *testing.T) {
	statetest.SQLiteOnly(t, "a trigger makes it fail")
	synctest.Test(t, func(t *testing.T) {
		ch, most := &fake{name: "fake"}, &room{}
		most.bytes.Store(1 << 20)
		ch.send = func(context.Context, channel.Message) (channel.Receipt, error) { return channel.Receipt{}, permanent }
		o := open(t, outbox.Options{Channels: []channel.Channel{ch}, Settings: most})
		run(t, o)
		for i := range 150 {
			put(t, o, file(t, o, "fake:a", fmt.Sprint(i), "four"))
		}
		synctest.Wait()
		if n := len(blobs(t, o)); n != 150 {
			t.Fatalf("%d failed files are kept", n)
		}
		execute(t, statetest.Raw(t, o.dir), `CREATE TRIGGER many BEFORE UPDATE OF blob ON part
			WHEN new.blob = '' AND old.blob <> '' AND old.delivery = (SELECT max(id) - 10 FROM delivery) BEGIN SELECT RAISE(ABORT, 'not this one'); END`)
		most.bytes.Store(8)
		put(t, o, file(t, o, "fake:a", "last", "four"))
		synctest.Wait()
		if n := len(blobs(t, o)); n != 51 {
			t.Errorf("%d failed files are kept: what was in other commits is to be forgotten", n)
		}
	})
}
