//go:build e2e

package store_test

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/pgtest"
)

// onServer is the store "notes" of an installation, with its database in PostgreSQL.
func onServer(t *testing.T, s *pgtest.Server, database string) store.Spec {
	t.Helper()
	if _, errs := s.Psql("postgres", "CREATE DATABASE "+database); errs != "" {
		t.Fatal(errs)
	}
	spec := specIn(t.TempDir())
	spec.Server.File = s.File(database)
	return spec
}

func TestAStoreOnPostgreSQLIsRefusedIfItIsNotTheRightOne(t *testing.T) {
	server := pgtest.Start(t)
	refuse := map[string]struct {
		spoil func(s *store.Spec)
		kind  error
	}{
		"empty, and there was one": {func(s *store.Spec) { s.Server.File = onServer(t, server, "other").Server.File }, store.ErrMissing},
		"of a newer program":       {func(*store.Spec) { server.Psql("notes", "UPDATE longshore_store SET version = 99") }, store.ErrNewer},
		"of another store":         {func(*store.Spec) { server.Psql("notes", "UPDATE longshore_store SET version = 1, name = 'keys'") }, store.ErrForeign},
		"of another installation": {func(*store.Spec) {
			server.Psql("notes", "UPDATE longshore_store SET name = 'notes', installation = '"+strings.Repeat("a", 32)+"'")
		}, store.ErrForeign},
		"away":                         {func(*store.Spec) { server.Stop(syscall.SIGINT) }, store.ErrAway},
		"without a file that names it": {func(s *store.Spec) { s.Server.File = filepath.Join(t.TempDir(), "none") }, store.ErrUnreadable},
	}
	spec := onServer(t, server, "notes")
	if v, err := store.Look(t.Context(), spec); v != nil || err != nil {
		t.Errorf("before the first start: %v, %v", v, err)
	}
	db, closing, err := open(spec)
	must(t, err)
	if !db.Made {
		t.Error("not made")
	}
	must(t, closing())
	db, closing, err = open(spec)
	must(t, err)
	if db.Made {
		t.Error("made twice")
	}
	must(t, closing())
	for _, name := range []string{"without a file that names it", "empty, and there was one", "of a newer program", "of another store", "of another installation", "away"} {
		tt, s := refuse[name], spec
		tt.spoil(&s)
		_, _, opened := open(s)
		_, looked := store.Look(t.Context(), s)
		_, examined := store.Examine(t.Context(), s, true)
		for how, err := range map[string]error{"Open": opened, "Look": looked, "Check": store.Check(t.Context(), s), "Examine": examined, "PlanOf": store.PlanOf(t.Context(), s).Err} {
			if known, ok := errors.AsType[*store.Error](err); !errors.Is(err, tt.kind) || !ok || known.Remedy == "" {
				t.Errorf("%s: %s: %v", name, how, err)
			}
		}
	}
	server.Again()
}

// Another machine has no marker yet: it joins the installation whose state it finds.
func TestASecondMachineJoinsTheInstallation(t *testing.T) {
	server := pgtest.Start(t)
	one := onServer(t, server, "notes")
	_, closing, err := open(one)
	must(t, err, closing())
	other := specIn(t.TempDir())
	other.Server = one.Server
	_, closing, err = open(other)
	must(t, err, closing())
	a, err := one.Home.ID()
	b, failed := other.Home.ID()
	must(t, err, failed)
	if a == "" || a != b {
		t.Errorf("%q and %q", a, b)
	}
}

// A change that the server refuses fails alone, and its neighbours are there.
func TestAChangeThatPostgreSQLRefusesFailsAlone(t *testing.T) {
	db, closing, err := open(onServer(t, pgtest.Start(t), "notes"))
	must(t, err)
	defer func() { must(t, closing()) }()
	c, err := db.Committer(t.Context(), nil)
	must(t, err)
	defer func() { must(t, c.Close()) }()
	gate := make(chan struct{})
	answers := make(chan error, 3)
	go func() { // the others wait for it, and are one commit
		answers <- c.Do(t.Context(), func(*store.Tx) error { <-gate; return nil }, nil)
	}()
	own := errors.New("its own")
	for _, run := range []func(*store.Tx) error{
		func(tx *store.Tx) error { return tx.Exec(`INSERT INTO note (words) VALUES (?)`, "kept") },
		func(tx *store.Tx) error {
			return tx.Exec(`INSERT INTO note (words) VALUES (CAST(? AS TEXT) || CAST(1/0 AS TEXT))`, "lost")
		},
		func(tx *store.Tx) error {
			return errors.Join(tx.Exec(`INSERT INTO note (words) VALUES (?)`, "lost"), own)
		},
	} {
		go func() { answers <- c.DoBeside(t.Context(), run, nil) }()
	}
	close(gate)
	failed := 0
	for range 4 {
		if err := <-answers; err != nil {
			failed++
		}
	}
	var words string
	must(t, db.QueryRow(`SELECT string_agg(words, ' ') FROM note`).Scan(&words))
	if failed != 2 || words != "kept" {
		t.Errorf("%d failed, and there is %q", failed, words)
	}
}

// A backup that was stopped while it held the commits back made each of them fail, on every host, for as long as it stood.
func TestABackupThatStopsEndedEveryCommit(t *testing.T) {
	spec := onServer(t, pgtest.Start(t), "notes")
	spec.Server.Limit = 6 * time.Second
	db, closing, err := open(spec)
	must(t, err)
	defer func() { must(t, closing()) }()
	c, err := db.Committer(t.Context(), nil)
	must(t, err)
	defer func() { must(t, c.Close()) }()
	write := func(tx *store.Tx) error { return tx.Exec(`INSERT INTO note (words) VALUES (?)`, "kept") }
	must(t, c.Do(t.Context(), write, nil)) // it is connected
	frozen, err := store.Freeze(t.Context(), []store.Spec{spec})
	must(t, err)
	defer frozen.Close()
	must(t, c.Do(t.Context(), write, nil))
	if err := frozen.Thaw(); err == nil {
		t.Error("nobody heard that the stores had not waited")
	}
	tx, err := db.BeginTx(t.Context(), nil)
	must(t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.Exec(`UPDATE longshore_store SET checked = 0`)
	must(t, err)
	if _, err := store.Freeze(t.Context(), []store.Spec{spec}); !errors.Is(err, store.ErrLocked) {
		t.Errorf("beside a transaction that does not end: %v", err)
	}
}

// One value that was too long for an index failed the commits of everybody who wrote at the same time.
func TestAValueTooLongForAnIndexFailedItsNeighbours(t *testing.T) {
	db, closing, err := open(onServer(t, pgtest.Start(t), "notes"))
	must(t, err)
	defer func() { must(t, closing()) }()
	c, err := db.Committer(t.Context(), nil)
	must(t, err)
	defer func() { must(t, c.Close()) }()
	random := make([]byte, 8000) // which does not shrink
	_, _ = rand.Read(random)
	gate, answers := make(chan struct{}), make(chan error, 3)
	go func() { answers <- c.Do(t.Context(), func(*store.Tx) error { <-gate; return nil }, nil) }()
	for _, words := range []string{hex.EncodeToString(random), "kept"} {
		go func() {
			answers <- c.DoBeside(t.Context(), func(tx *store.Tx) error { return tx.Exec(`INSERT INTO note (words) VALUES (?)`, words) }, nil)
		}()
	}
	close(gate)
	failed := 0
	for range 3 {
		if <-answers != nil {
			failed++
		}
	}
	var words string
	must(t, db.QueryRow(`SELECT string_agg(words, ' ') FROM note`).Scan(&words))
	if failed != 1 || words != "kept" {
		t.Errorf("%d failed, and there are %d bytes", failed, len(words))
	}
}
