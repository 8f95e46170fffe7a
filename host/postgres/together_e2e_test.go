//go:build e2e

package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/postgres"
	"github.com/longshore-bridge/longshore/internal/pgtest"
)

// 64 callers who asked one thing each waited for 64 answers, one after the other.
func TestChangesBesideEachOtherAskInOneRoundTrip(t *testing.T) {
	s := pgtest.Start(t, "log_statement=all")
	db := open(t, config(t, s), postgres.Options{Limit: postgres.DefaultLimit})
	w := postgres.NewWriter(db)
	defer w.Close()
	got := make([]int64, 5)
	change := func(i int) func() error {
		return func() error {
			rows, err := w.Query(`INSERT INTO note (words) VALUES (?) RETURNING id`, []any{fmt.Sprint("n", i)})
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				if err := rows.Scan(&got[i]); err != nil {
					return err
				}
			}
			n, err := w.Changed(`UPDATE note SET flag = ? WHERE id = ?`, []any{i, got[i]})
			if err == nil && n != 1 {
				err = fmt.Errorf("%d rows", n)
			}
			return err
		}
	}
	nested := func() error { // parts of one change
		_, err := w.Together(-1, []func() error{change(3), change(4)})
		return err
	}
	must(t, w.Begin())
	if failed, err := w.Together(0, []func() error{change(0), change(1), change(2), nested}); failed >= 0 || err != nil {
		t.Fatal(failed, err)
	}
	must(t, w.Commit())
	if words(t, db) != "n0 n1 n2 n3 n4" {
		t.Errorf("%q, ids %v", words(t, db), got)
	}
	for i, id := range got {
		var flag int
		if err := db.QueryRow(`SELECT flag FROM note WHERE id = ?`, id).Scan(&flag); err != nil || flag != i {
			t.Errorf("%d has %d: %v", i, flag, err)
		}
	}
}

// The one that fails is known, whether the server or its own code refuses it, and nothing of the others hangs.
func TestAChangeBesideOthersFailsAlone(t *testing.T) {
	db := open(t, config(t, pgtest.Start(t)), postgres.Options{Limit: postgres.DefaultLimit})
	w := postgres.NewWriter(db)
	defer w.Close()
	asks := func(word string, after error) func() error {
		return func() error {
			if err := w.Exec(insert, []any{word, nil, 0}); err != nil {
				return err
			}
			var n int
			return errors.Join(row(w, &n), after)
		}
	}
	own := errors.New("its own")
	for want, tt := range map[string][]func() error{
		"23505": {asks("a", nil), asks("b", nil), asks("a", nil), asks("c", nil)},
		"own":   {asks("a", nil), asks("b", nil), asks("c", own), asks("d", nil)},
	} {
		must(t, w.Begin())
		failed, err := w.Together(0, tt)
		if change, cause := w.Blame(); change >= 0 {
			failed, err = change, cause
		}
		if failed != 2 || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d, %v", want, failed, err)
		}
		w.Rollback()
	}
	must(t, w.Begin(), w.Exec(insert, []any{"after", nil, 0}), w.Commit())
	if words(t, db) != "after" {
		t.Error(words(t, db))
	}
}
