package spool

import (
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/ipc"
)

// Below limits.free_disk only the first request of a queue had a result: those behind it
// waited without a reason, in its batch and after it.
func TestRequestsBehindOneThatWaitsHadNoReason(t *testing.T) {
	dir := prepare(t, "fam")
	for i := range 5 {
		drop(t, dir, "fam", name(i), hello)
	}
	synctest.Test(t, func(t *testing.T) {
		var room atomic.Bool
		q := serve(t, dir, Options{Folders: []string{"fam"}, Batch: 2, Poll: true, Rescan: time.Hour}, func(b *Batch) {
			for _, it := range b.Items {
				if !room.Load() {
					b.Defer(it, refuse("disk_full", "no room", "wait"))
					return // the others are undecided
				}
				b.Remove(it)
			}
		})
		defer q.stop()
		synctest.Wait()
		c := ipc.NewClient(filepath.Join(dir, "fam"))
		for i := range 5 {
			want := "an earlier request of this group waits: no room"
			if i == 0 {
				want = "no room"
			}
			id := name(i)[:6]
			if r, err := c.Status(id); err != nil || r.Status != ipc.Queued || r.Code != "disk_full" || r.Message != want || r.Hint != "wait" {
				t.Errorf("%s: %+v, %v", id, r, err)
			}
		}
		began := time.Now()
		time.Sleep(time.Minute)
		synctest.Wait()
		if s, ok := q.Stuck("fam"); !ok || s.Request != "000000" || s.Why.Code != "disk_full" || s.Since.After(began) {
			t.Errorf("stuck: %+v, %v", s, ok)
		}
		room.Store(true)
		for range 5 {
			q.Wake("fam")
			synctest.Wait()
		}
		if s, ok := q.Stuck("fam"); ok || len(waitingIn(t, dir, "fam")) > 0 {
			t.Errorf("with room: %+v", s)
		}
	})
}
