package store_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/store"
)

// Changes that wait for a commit share the next one. One of them that fails for
// reasons of its own undoes no other.
func TestWhatWaitsSharesACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, closing, err := open(specIn(t.TempDir()))
		must(t, err)
		syncs := 0
		c, err := db.Committer(t.Context(), func() error { syncs++; return nil })
		must(t, err)
		end, first := make(chan struct{}), make(chan error, 1)
		go func() { first <- c.Do(t.Context(), func(*store.Tx) error { <-end; return nil }, nil) }()
		synctest.Wait() // the first commits
		own, errs := errors.New("its own fault"), make(chan error, 10)
		var order []string
		for i := range 10 {
			words := fmt.Sprint(i)
			go func() {
				errs <- c.Do(t.Context(), func(tx *store.Tx) error {
					tx.KeepFiles = true
					_, err := tx.Exec(`INSERT INTO note VALUES (?)`, words)
					if words == "4" {
						return own
					}
					return err
				}, func() { order = append(order, words) })
			}()
			synctest.Wait()
		}
		close(end)
		must(t, <-first)
		failed := 0
		for range 10 {
			if err := <-errs; errors.Is(err, own) {
				failed++
			} else {
				must(t, err)
			}
		}
		var notes int
		must(t, db.QueryRow(`SELECT count(*) FROM note`).Scan(&notes), c.Close(), closing())
		if want := []string{"0", "1", "2", "3", "5", "6", "7", "8", "9"}; failed != 1 || notes != 9 || syncs != 1 || !cmp.Equal(want, order) {
			t.Errorf("%d failed, %d notes, %d syncs, in the order %v", failed, notes, syncs, order)
		}
	})
}
