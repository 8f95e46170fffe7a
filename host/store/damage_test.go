package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/host/store"
)

// TestADamageMetWhileTheHostRanWasForgotten: pages in the middle were overwritten, and no view of the host said so.
func TestADamageMetWhileTheHostRanWasForgotten(t *testing.T) {
	for name, meet := range map[string]func(db *store.DB) error{
		"query": func(db *store.DB) error {
			var n int
			return db.QueryRowContext(t.Context(), `SELECT count(words || 'x') FROM note NOT INDEXED`).Scan(&n)
		},
		"commit": func(db *store.DB) error {
			c, err := db.Committer(t.Context(), nil)
			must(t, err)
			return errors.Join(c.Do(t.Context(), func(tx *store.Tx) error { return tx.Exec(`DELETE FROM note`) }, nil), c.Close())
		},
	} {
		s, _ := made(t)
		db, closing, err := open(s)
		must(t, err)
		db.SetMaxIdleConns(-1) // each connection reads the pages anew
		_, err = db.Exec(`INSERT INTO note VALUES (?)`, strings.Repeat("long ", 50_000))
		must(t, err, db.Damage())
		_, err = db.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
		must(t, err)
		path := filepath.Join(s.Dir, s.File)
		bytes, err := os.ReadFile(path)
		must(t, err)
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		must(t, err)
		_, err = f.WriteAt([]byte(strings.Repeat("\xff", len(bytes)-4096)), 4096)
		must(t, err, f.Close())
		if err := meet(db); !errors.Is(store.Words(err), store.ErrDamaged) {
			t.Fatalf("%s: the pages are overwritten: %v", name, err)
		}
		if err := s.Explain("read", db.Damage()); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s: the store remembers: %v", name, err)
		}
		_ = closing() // the database is damaged
	}
}

// TestADamagedPageThatNobodyReadIsFound beside the process that has the database open.
func TestADamagedPageThatNobodyReadIsFound(t *testing.T) {
	s, _ := made(t)
	db, closing, err := open(s)
	must(t, err)
	var page int64
	must(t, s.Whole(t.Context()), db.QueryRow(`SELECT rootpage FROM sqlite_master WHERE name = 'note_words'`).Scan(&page))
	_, err = db.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	must(t, err)
	f, err := os.OpenFile(filepath.Join(s.Dir, s.File), os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteAt([]byte(strings.Repeat("\xff", 64)), (page-1)*4096)
	must(t, err, f.Close())
	if err := s.Whole(t.Context()); !errors.Is(err, store.ErrDamaged) || db.Damage() != nil {
		t.Errorf("%v; a statement met %v", err, db.Damage())
	}
	must(t, closing())
	if _, err := store.Examine(t.Context(), s, false); err != nil {
		t.Errorf("its head is whole: %v", err)
	}
	if _, err := store.Examine(t.Context(), s, true); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("at rest: %v", err)
	}
}

// full fails like a file for which no descriptor is left.
type full struct{ err error }

func (f full) ReadAt([]byte, int64) (int, error) { return 0, f.err }

// TestTooManyOpenFilesWasADamagedMarker: the remedy was to delete it.
func TestTooManyOpenFilesWasADamagedMarker(t *testing.T) {
	s, _ := made(t)
	var limit unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Max: limit.Max}))
	_, err := s.Home.ID()
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	if !errors.Is(err, store.ErrUnreadable) || errors.Is(err, store.ErrMarker) || strings.Contains(err.Error(), "delete") {
		t.Errorf("the id: %v", err)
	}
	for _, passing := range []error{unix.EMFILE, unix.ENFILE, unix.EINTR} {
		if err := s.CheckHead(full{passing}); errors.Is(err, store.ErrDamaged) || err == nil {
			t.Errorf("%v: %v", passing, err)
		}
	}
}
