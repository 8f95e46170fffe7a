package store_test

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/host/store"
)

// killed is a store as a process left it that was killed after n commits of a log that nobody has folded; do sees the database first.
func killed(t *testing.T, n int, do func(db *sql.DB)) (s store.Spec, log []byte) {
	t.Helper()
	s, _ = made(t)
	db, closing, err := open(s)
	must(t, err)
	db.SetMaxOpenConns(1)
	_, err = db.Exec(`PRAGMA wal_autocheckpoint(0)`)
	must(t, err)
	for range n {
		_, err = db.Exec(`INSERT INTO note VALUES ('accepted')`)
		must(t, err)
	}
	if do != nil {
		do(db.DB)
	}
	copied := t.TempDir()
	must(t, os.CopyFS(copied, os.DirFS(filepath.Dir(s.Dir))), closing())
	s = specIn(copied)
	must(t, os.Remove(filepath.Join(s.Dir, "notes.db-shm")))
	log, err = os.ReadFile(filepath.Join(s.Dir, "notes.db-wal"))
	must(t, err)
	return s, log
}

func ran(t *testing.T, statement string) func(db *sql.DB) {
	return func(db *sql.DB) {
		_, err := db.Exec(statement)
		must(t, err)
	}
}

const logFrame = 24 + 4096 // bytes

// zeroed is a log with n zeroes at a place.
func zeroed(log []byte, at, n int) []byte {
	log = append([]byte(nil), log...)
	clear(log[at:min(len(log), at+n)])
	return log
}

// logged writes a log, and returns what each way to open the store says.
func logged(t *testing.T, s store.Spec, log []byte) map[string]error {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(s.Dir, "notes.db-wal"), log, 0o600))
	all := map[string]error{}
	_, all["examine"] = store.Examine(t.Context(), s, false)
	v, err := store.Look(t.Context(), s)
	if all["look"] = err; err == nil {
		must(t, v.Close())
	}
	f, err := store.Freeze(t.Context(), []store.Spec{s})
	if all["backup"] = err; err == nil {
		must(t, f.Thaw(), f.Close())
	}
	all["check"] = store.Check(t.Context(), s)
	_, closing, err := open(s)
	if all["open"] = err; err == nil {
		must(t, closing())
	}
	return all
}

// TestWhatLayInADamagedLogAloneVanishedInSilence: SQLite ignores such a log, and the host started without what it had accepted.
func TestWhatLayInADamagedLogAloneVanishedInSilence(t *testing.T) {
	for name, damage := range map[string]func(log []byte) []byte{
		"the header":                   func(log []byte) []byte { return zeroed(log, 0, 32) },
		"a salt in the header":         func(log []byte) []byte { return zeroed(log, 16, 4) },
		"the header and a frame":       func(log []byte) []byte { return zeroed(log, 0, 32+logFrame) },
		"the page of the first commit": func(log []byte) []byte { return zeroed(log, 32+24+4000, 96) },
		"a commit in the middle":       func(log []byte) []byte { return zeroed(log, 32+3*logFrame+16, 8) },
		"many frames":                  func(log []byte) []byte { return zeroed(log, 32+2*logFrame+100, 4*logFrame) },
		"all but some frames":          func(log []byte) []byte { return zeroed(log, 0, 32+5*logFrame+100) },
	} {
		t.Run(name, func(t *testing.T) {
			s, log := killed(t, 6, nil)
			for who, err := range logged(t, s, damage(log)) {
				if e, ok := errors.AsType[*store.Error](err); !ok || e.Kind != store.ErrDamaged || e.Finding() != "store_damaged" {
					t.Errorf("%s: %v", who, err)
				}
			}
			must(t, os.WriteFile(filepath.Join(s.Dir, "notes.db-wal"), log, 0o600))
			if n := notes(t, s); n != 7 {
				t.Errorf("nothing was to be changed, and %d notes are left", n)
			}
		})
	}
}

// TestALogThatAPowerLossToreIsNoDamage: what SQLite passes over was never promised, or is in the database.
func TestALogThatAPowerLossToreIsNoDamage(t *testing.T) {
	quiet := func(t *testing.T, s store.Spec, log []byte, least int) {
		t.Helper()
		database, err := os.ReadFile(filepath.Join(s.Dir, s.File))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(s.Dir, "notes.db-wal"), log, 0o600))
		if n := notes(t, s); n < least {
			t.Errorf("%d notes", n)
		}
		must(t, os.WriteFile(filepath.Join(s.Dir, s.File), database, 0o600))
	}
	t.Run("cut off", func(t *testing.T) {
		s, log := killed(t, 3, nil)
		for end := 0; end <= len(log); end += 2000 {
			quiet(t, s, log[:end], 1)
		}
		quiet(t, s, log, 4)
	})
	t.Run("sectors of the last commit", func(t *testing.T) {
		s, log := killed(t, 3, ran(t, `INSERT INTO note VALUES (hex(zeroblob(20000)))`))
		last := 32 + 6*logFrame // each of the three has the table's page and the index'
		if binary.BigEndian.Uint32(log[last-logFrame+4:]) == 0 || len(log) < last+5*logFrame {
			t.Fatal("the last commit begins elsewhere")
		}
		for at := last; at < len(log); at += 2048 {
			quiet(t, s, zeroed(log, at, 512), 4)
		}
	})
	t.Run("the header of a log begun anew", func(t *testing.T) {
		s, log := killed(t, 3, ran(t, `PRAGMA wal_checkpoint(RESTART)`))
		quiet(t, s, zeroed(log, 0, 32), 4)
	})
	t.Run("the first commit of a log begun anew", func(t *testing.T) {
		s, log := killed(t, 6, func(db *sql.DB) {
			ran(t, `PRAGMA wal_checkpoint(RESTART)`)(db)
			ran(t, `INSERT INTO note VALUES ('torn')`)(db)
		})
		quiet(t, s, zeroed(log, 32+1000, 96), 7)
	})
}
