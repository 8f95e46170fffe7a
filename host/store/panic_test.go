package store_test

import (
	"testing"

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
