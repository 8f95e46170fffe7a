package store_test

import (
	"testing"
	"testing/synctest"

	"github.com/longshore-bridge/longshore/host/store"
)

// A panic in one change, which a server recovers, left the transaction open and the commit taken:
// nobody wrote to the database any more.
func TestAPanicInOneChangeStoppedAllOthers(t *testing.T) {
	for _, where := range []string{"run", "after"} {
		t.Run(where, func(t *testing.T) {
			db, closing, err := open(specIn(t.TempDir()))
			must(t, err)
			defer func() { must(t, closing()) }()
			c, err := db.Committer(t.Context(), nil)
			must(t, err)
			defer func() { must(t, c.Close()) }()
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the caller did not hear of it")
					}
				}()
				bug := func() { panic("a bug in one change") }
				if where == "run" {
					_ = c.Do(t.Context(), func(*store.Tx) error { bug(); return nil }, nil)
				} else {
					_ = c.Do(t.Context(), func(*store.Tx) error { return nil }, bug)
				}
			}()
			if err := c.Do(t.Context(), func(*store.Tx) error { return nil }, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAPanicInAnothersCommitWasAnError, with the stack of the host: its caller went on.
func TestAPanicInAnothersCommitWasAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, closing, err := open(specIn(t.TempDir()))
		must(t, err)
		c, err := db.Committer(t.Context(), nil)
		must(t, err)
		waits := func(run func(*store.Tx) error) (ended chan any) {
			ended = make(chan any, 1)
			go func() {
				defer func() { ended <- recover() }()
				_ = c.Do(t.Context(), run, nil)
			}()
			synctest.Wait()
			return ended
		}
		end := make(chan struct{})
		first := waits(func(*store.Tx) error { <-end; return nil })
		var others []chan any
		for range 8 { // one of them commits for all
			others = append(others, waits(func(*store.Tx) error { panic("a bug in one change") }))
		}
		close(end)
		if got := <-first; got != nil {
			t.Error(got)
		}
		for _, other := range others {
			if <-other == nil {
				t.Error("the caller did not hear of it")
			}
		}
		must(t, c.Close(), closing())
	})
}
