package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/store"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func TestWhatIsSetAsideIsWholeAndTheNextStartBeginsAnew(t *testing.T) {
	for _, tt := range brokenStores() {
		t.Run(tt.name, func(t *testing.T) {
			switch tt.name {
			case "a file in the place of its directory", "a file in the place of the files", "a directory in the place of the lock":
				t.Skip("its remedy is another one")
			}
			s, _ := made(t)
			tt.spoil(t, s)
			var bytes int64
			for _, name := range []string{"notes.db", "notes.db-wal", "notes.marker", "files"} {
				bytes += store.Size(filepath.Join(s.Dir, name))
			}
			moved, err := store.SetAside([]store.Spec{s}, noon)
			must(t, err)
			if store.Size(moved.Dir) != bytes || moved.Bytes != bytes {
				t.Errorf("%+v of %d bytes", moved, bytes)
			}
			if tt.name == "installation of no form" {
				return // it is not this store's
			}
			db, closing, err := open(s)
			must(t, err)
			if !db.Made {
				t.Error("not made anew")
			}
			must(t, closing())
			if store.Size(moved.Dir) != bytes {
				t.Error("the start took of what was set aside")
			}
		})
	}
}

// TestASetAsideThatWasKilledIsTakenUpAgain: what is half moved must not be
// taken for a first start.
func TestASetAsideThatWasKilledIsTakenUpAgain(t *testing.T) {
	steps := []string{"notes.db", "files", "notes.marker"}
	for n := range steps {
		s, _ := made(t)
		for _, name := range steps[:n+1] {
			must(t, os.Rename(filepath.Join(s.Dir, name), filepath.Join(t.TempDir(), name)))
		}
		if _, _, err := open(s); !errors.Is(err, store.ErrMissing) {
			t.Errorf("without %v: %v", steps[:n+1], err)
		}
		_, err := store.SetAside([]store.Spec{s}, noon)
		must(t, err)
		_, closing, err := open(s)
		must(t, err, closing())
	}
}

func TestAStoreInUseIsNotSetAside(t *testing.T) {
	s, _ := made(t)
	_, closing, err := open(s)
	must(t, err)
	if _, err := store.SetAside([]store.Spec{s}, noon); !errors.Is(err, store.ErrLocked) {
		t.Error(err)
	}
	must(t, closing())
	if n := notes(t, s); n != 1 {
		t.Errorf("%d notes", n)
	}
}

// TestASweepDeletesNothingForAWeek: it deleted at once what no record named,
// also where it was the record that was lost.
func TestASweepDeletesNothingForAWeek(t *testing.T) {
	s, _ := made(t)
	files := filepath.Join(s.Dir, "files")
	moved, err := s.Sweep(t.Context(), files, []string{"a", "not there"}, noon)
	must(t, err)
	swept := filepath.Join(moved.Dir, "a")
	if moved.Names != 1 || moved.Bytes != 5 {
		t.Errorf("%+v", moved)
	}
	aside, err := store.SetAside([]store.Spec{s}, noon)
	must(t, err)
	for _, later := range []time.Duration{0, 24 * time.Hour, store.KeepSwept} {
		_, err := s.Sweep(t.Context(), files, nil, noon.Add(later))
		must(t, err)
		if data, err := os.ReadFile(swept); string(data) != "bytes" {
			t.Errorf("after %s: %v", later, err)
		}
	}
	_, err = s.Sweep(t.Context(), files, nil, noon.Add(store.KeepSwept+time.Second))
	must(t, err)
	if _, err := os.Stat(moved.Dir); !os.IsNotExist(err) {
		t.Errorf("still there: %v", err)
	}
	if _, err := os.Stat(aside.Dir); err != nil {
		t.Errorf("what an operator set aside was deleted: %v", err)
	}
}

// Through a link in the place of aside, a sweep deleted at the link's target.
func TestASweepFollowedALinkAndDeletedThere(t *testing.T) {
	s, _ := made(t)
	elsewhere := t.TempDir()
	old := filepath.Join(elsewhere, "20200101T000000Z-notes-swept")
	must(t, os.Mkdir(old, 0o700), os.Symlink(elsewhere, s.Home.Aside))
	_, err := s.Sweep(t.Context(), filepath.Join(s.Dir, "files"), nil, noon)
	if _, gone := os.Stat(old); gone != nil || err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("%v, %v", err, gone)
	}
}

func TestTwoSweepsOfOneSecondLieApart(t *testing.T) {
	s, _ := made(t)
	files := filepath.Join(s.Dir, "files")
	one, err := s.Sweep(t.Context(), files, []string{"a"}, noon)
	must(t, err, os.WriteFile(filepath.Join(files, "a"), []byte("other"), 0o600))
	two, err := s.Sweep(t.Context(), files, []string{"a"}, noon)
	must(t, err)
	if one.Dir == two.Dir {
		t.Errorf("one would replace the other in %s", one.Dir)
	}
	_, err = s.Sweep(t.Context(), files, nil, noon.Add(store.KeepSwept+time.Second))
	must(t, err)
	if left, _ := os.ReadDir(s.Home.Aside); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// The host was killed before, and so was the move, between the database and its log: what lay aside
// lacked the last commits.
func TestADatabaseWasSetAsideWithoutItsLog(t *testing.T) {
	s, _ := made(t)
	db, closing, err := open(s)
	must(t, err)
	_, err = db.Exec(`INSERT INTO note VALUES ('late')`)
	must(t, err)
	left := map[string][]byte{}
	for _, name := range []string{"notes.db", "notes.db-wal"} {
		left[name], err = os.ReadFile(filepath.Join(s.Dir, name))
		must(t, err)
	}
	must(t, closing())
	for name, content := range left {
		must(t, os.WriteFile(filepath.Join(s.Dir, name), content, 0o600))
	}
	moved, err := s.SetDatabaseAside(t.Context(), noon)
	must(t, err)
	must(t, os.Rename(filepath.Join(moved.Dir, "notes.db"), filepath.Join(s.Dir, "notes.db")))
	if n := notes(t, s); n != 2 {
		t.Errorf("%d notes in the database alone, want 2", n)
	}
}
