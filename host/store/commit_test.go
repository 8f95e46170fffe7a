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
		var syncs synced
		c, err := db.Committer(t.Context(), &syncs)
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
					err := tx.Exec(`INSERT INTO note VALUES (?)`, words)
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

// TestAStoreWasClosedDuringACommit: it closed the statements that the commit used. Now it waits for
// that commit, and refuses those behind it.
func TestAStoreWasClosedDuringACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, closing, err := open(specIn(t.TempDir()))
		must(t, err)
		c, err := db.Committer(t.Context(), nil)
		must(t, err)
		end, first, closed := make(chan struct{}), make(chan error, 1), make(chan error, 1)
		go func() {
			first <- c.Do(t.Context(), func(tx *store.Tx) error {
				<-end
				err := tx.Exec(`INSERT INTO note VALUES ('late')`)
				return err
			}, nil)
		}()
		synctest.Wait() // it commits
		go func() { closed <- c.Close() }()
		synctest.Wait()
		select {
		case err := <-closed:
			t.Fatalf("closed during a commit: %v", err)
		default:
		}
		close(end)
		must(t, <-first, <-closed)
		if err := c.Do(t.Context(), runs(`INSERT INTO note VALUES ('later')`), nil); err == nil {
			t.Error("a closed store takes changes")
		}
		var notes int
		must(t, db.QueryRow(`SELECT count(*) FROM note`).Scan(&notes), closing())
		if notes != 1 {
			t.Errorf("%d notes", notes)
		}
	})
}

// A value that the database refuses, of whatever kind, undoes nothing of the changes that
// share its commit.
func TestAChangeThatTheDatabaseRefusedTookItsNeighboursAlong(t *testing.T) {
	const table = `CREATE TABLE IF NOT EXISTS strict (id INTEGER PRIMARY KEY, n INTEGER NOT NULL UNIQUE CHECK (n < 1000), of INTEGER REFERENCES strict (id)) STRICT`
	refused := map[string]func(*store.Tx) error{
		"a key that is there": runs(`INSERT INTO strict (id, n) VALUES (1, 500)`),
		"not unique":          runs(`INSERT INTO strict (id, n) VALUES (501, 1)`),
		"no value":            runs(`INSERT INTO strict (id, n) VALUES (502, NULL)`),
		"a check":             runs(`INSERT INTO strict (id, n) VALUES (503, 2000)`),
		"another type":        runs(`INSERT INTO strict (id, n) VALUES (504, 'words')`),
		"a key of words":      runs(`INSERT INTO strict (id, n) VALUES ('words', 505)`),
		"a number too large":  runs(`SELECT abs(-9223372036854775808)`),
		"too large":           runs(`SELECT length(zeroblob(2000000000))`),
		"no such table":       runs(`INSERT INTO nowhere VALUES (1)`),
		"no such value":       runs(`INSERT INTO strict (id, n) VALUES (?, ?)`),
		"its caller's own":    func(*store.Tx) error { return errors.New("no") },
	}
	synctest.Test(t, func(t *testing.T) {
		db, closing, err := open(specIn(t.TempDir()))
		must(t, err)
		c, err := db.Committer(t.Context(), nil)
		must(t, err)
		must(t, c.Do(t.Context(), runs(table), nil))
		must(t, c.Do(t.Context(), runs(`INSERT INTO strict (id, n) VALUES (1, 1)`), nil))
		end, first := make(chan struct{}), make(chan error, 1)
		go func() { first <- c.Do(t.Context(), func(*store.Tx) error { <-end; return nil }, nil) }()
		synctest.Wait()
		bad, good := map[string]chan error{}, make(chan error, 64)
		for name, run := range refused {
			done := make(chan error, 1)
			bad[name] = done
			go func() { done <- c.Do(t.Context(), run, nil) }()
		}
		for i := len(refused); i < 64; i++ {
			go func() {
				good <- c.Do(t.Context(), func(tx *store.Tx) error {
					err := tx.Exec(`INSERT INTO strict (id, n) VALUES (?, ?)`, i, i)
					return err
				}, nil)
			}()
		}
		synctest.Wait()
		close(end)
		must(t, <-first)
		for i := len(refused); i < 64; i++ {
			if err := <-good; err != nil {
				t.Errorf("a neighbour: %v", err)
			}
		}
		for name, done := range bad {
			if err := <-done; err == nil {
				t.Errorf("%s: not refused", name)
			}
		}
		var n int
		must(t, db.QueryRow(`SELECT count(*) FROM strict`).Scan(&n), c.Close(), closing())
		if want := 64 - len(refused) + 1; n != want {
			t.Errorf("%d rows, want %d", n, want)
		}
	})
}

func runs(query string) func(*store.Tx) error {
	return func(tx *store.Tx) error {
		rows, err := tx.Query(query)
		if err != nil {
			return err
		}
		for rows.Next() {
		}
		return errors.Join(rows.Err(), rows.Close())
	}
}

// synced counts how often names of files became durable.
type synced int

func (s *synced) Keep() error { *s++; return nil }
