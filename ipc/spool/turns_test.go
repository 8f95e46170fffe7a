package spool

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/ipc"
)

func TestOneGroupCannotDelayAnother(t *testing.T) {
	dir := prepare(t, "busy", "quiet")
	for i := range 2000 {
		drop(t, dir, "busy", name(i), hello)
	}
	drop(t, dir, "quiet", "a.json", hello)
	var busy, before atomic.Int64
	got := make(chan *Item, 3000)
	q := serve(t, dir, Options{Folders: []string{"busy", "quiet"}}, func(b *Batch) {
		if b.Folder == "quiet" {
			before.Store(busy.Load())
		} else {
			busy.Add(1)
		}
		accept(got, b)
	})
	q.got = got
	for range 2001 {
		q.next()
	}
	if before.Load() > 2 {
		t.Errorf("%d batches of the busy group went before the quiet one", before.Load())
	}
	if n := busy.Load(); n < 32 || n > 250 { // 64 or 8 in each
		t.Errorf("2000 requests came in %d batches, want 32 to 250", n)
	}
}

// What is recorded together makes others wait, so each of a neighbour's few requests took the time of a
// backlog's full batch.
func TestABacklogMadeANeighboursFewRequestsWait(t *testing.T) {
	dir := prepare(t, "busy", "quiet")
	for i := range 200 {
		drop(t, dir, "busy", name(i), hello)
	}
	drop(t, dir, "quiet", "a.json", hello)
	synctest.Test(t, func(t *testing.T) {
		var sizes []int
		q := serve(t, dir, Options{Folders: []string{"quiet", "busy"}, Poll: true}, func(b *Batch) {
			sizes = append(sizes, len(b.Items))
			for _, it := range b.Items {
				b.Remove(it)
			}
			if len(sizes) == 3 {
				time.Sleep(fairTime) // nobody else asks
			}
		})
		synctest.Wait()
		time.Sleep(fairTime)
		synctest.Wait()
		q.stop()
		if !slices.Equal(sizes, []int{64, 1, 8, 64, 64}) && !slices.Equal(sizes, []int{1, 8, 8, 64, 64, 56}) { // either was listed first
			t.Errorf("sizes of the batches: %v", sizes)
		}
	})
}

func TestAGroupThatIsAddedIsServedAtOnce(t *testing.T) {
	dir := prepare(t, "fam", "late")
	got := make(chan *Item, 10)
	q := serve(t, dir, Options{Folders: []string{"fam"}, Rescan: time.Hour}, func(b *Batch) { accept(got, b) })
	q.got = got
	drop(t, dir, "late", "early.json", hello)
	q.Add("fam", "late")
	q.Add("late") // again changes nothing
	if it := q.next(); it.Folder != "late" || it.ID != "early" {
		t.Errorf("of the new group comes %s/%s", it.Folder, it.ID)
	}
	drop(t, dir, "late", "then.json", hello) // seen by its event alone
	if it := q.next(); it.ID != "then" {
		t.Errorf("then comes %s", it.ID)
	}
}

func TestABatchOfAGroupIsNeverHandedOutTwiceAtOnce(t *testing.T) {
	dir := prepare(t, "fam")
	var inside atomic.Int64
	got := make(chan *Item, 300)
	one := func(b *Batch) {
		if inside.Add(1) != 1 {
			t.Error("two at once")
		}
		defer inside.Add(-1)
		accept(got, b)
	}
	q := serve(t, dir, Options{Folders: []string{"fam"}, Batch: 1}, one, one, one, one)
	q.got = got
	for i := range 200 {
		drop(t, dir, "fam", name(i), hello)
	}
	for range 200 {
		q.next()
	}
}

func TestDeferredRequestWaitsForRoomAndDoesNotSpin(t *testing.T) {
	dir := prepare(t, "fam")
	for i := range 10 {
		drop(t, dir, "fam", name(i), hello)
	}
	synctest.Test(t, func(t *testing.T) {
		var calls, room atomic.Int64
		room.Store(3)
		q := serve(t, dir, Options{Folders: []string{"fam"}, Poll: true, Rescan: time.Hour}, func(b *Batch) {
			calls.Add(1)
			for _, it := range b.Items {
				if room.Add(-1) < 0 {
					b.Defer(it, refuse("quota", "64 are waiting", "wait"))
				} else {
					b.Remove(it)
				}
			}
		})
		defer q.stop()
		synctest.Wait()
		c := ipc.NewClient(filepath.Join(dir, "fam"))
		r, err := c.Status("000007")
		if err != nil || r.Status != ipc.Queued || r.Code != "quota" || r.Message != "64 are waiting" {
			t.Errorf("result %+v, %v", r, err)
		}
		// A second try at every second's look, but no spinning: real time
		// passes nothing here, so each call is one of the looks.
		if n := calls.Load(); n > 2 {
			t.Errorf("%d calls without room", n)
		}
		room.Store(100)
		for range 4 {
			q.Wake("fam")
			synctest.Wait()
		}
		if err := q.log.String(); strings.Contains(err, "ERROR") {
			t.Error(err)
		}
		if left := waitingIn(t, dir, "fam"); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

func TestAFloodOfNonsenseDoesNotFillTheLog(t *testing.T) {
	const flood = 3 * maxLines
	dir := prepare(t, "fam", "work")
	for i := range flood {
		drop(t, dir, "fam", fmt.Sprintf("%04d.json", i), "{")
	}
	q := serve(t, dir, Options{Folders: []string{"fam", "work"}})
	q.none("fam")
	drop(t, dir, "work", "bad.json", "{")
	q.none("work")
	log := q.log.String()
	if n := strings.Count(log, "group=fam"); n != maxLines {
		t.Errorf("the log has %d lines of %d refusals", n, flood)
	}
	if !strings.Contains(log, "group=work") {
		t.Error("another group's refusal is not told")
	}
	if n := len(q.entries()); n != flood+1 {
		t.Errorf("%d entries in the errors folder", n)
	}
}

// The clock was set back by an hour, and for as long every backlog went in small batches.
func TestBatchesStayedSmallAfterTheClockWasSetBack(t *testing.T) {
	s := &Spool{opts: Options{Batch: 64}}
	s.few.Store(time.Now().Add(time.Hour).UnixNano())
	if n := s.fair(64, 2000); n != 64 {
		t.Errorf("%d requests in a batch", n)
	}
}
