package store_test

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/store"
)

const makeEnv = "LONGSHORE_TEST_MAKE_STORES"

// makeStores makes one store after another in new directories, until it is
// killed.
func makeStores(dir string) {
	for n := 0; ; n++ {
		_, closing, err := open(specIn(filepath.Join(dir, strconv.Itoa(n))))
		if err == nil {
			err = closing()
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
}

// TestNoKillWhileAStoreIsMadeKeepsItFromBeingMade kills processes that make
// stores, at times that differ by less than one step takes.
func TestNoKillWhileAStoreIsMadeKeepsItFromBeingMade(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	for kill := range 12 {
		dir := t.TempDir()
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), makeEnv+"="+dir)
		must(t, cmd.Start())
		tick := time.NewTicker(time.Millisecond)
		for first := filepath.Join(dir, "0", "installation", "notes"); ; <-tick.C {
			if _, err := os.Stat(first); err == nil {
				break // it works
			}
		}
		tick.Stop()
		<-time.After(time.Duration(kill) * 700 * time.Microsecond)
		must(t, cmd.Process.Kill())
		_ = cmd.Wait() // killed
		states, err := os.ReadDir(dir)
		must(t, err)
		for _, e := range states {
			if n := notes(t, specIn(filepath.Join(dir, e.Name()))); n != 0 {
				t.Errorf("kill %d: %d notes", kill, n)
			}
		}
	}
}

// TestEveryHalfMadeStoreIsMade goes through what a crash can leave, step by
// step: see the package's comment.
func TestEveryHalfMadeStoreIsMade(t *testing.T) {
	for name, unmake := range map[string]func(*testing.T, store.Spec){
		"the id alone":                   func(t *testing.T, s store.Spec) { must(t, os.RemoveAll(s.Dir), os.Remove(reference(s))) },
		"a temporary id":                 both(forget, remove("notes.db", "notes.marker"), leftovers),
		"the lock":                       both(forget, remove("notes.db", "notes.marker")),
		"an empty new database":          both(unmarked, remove("notes.db"), write("notes.db.new", "")),
		"half a new database":            both(unmarked, rename, write("notes.db.new-journal", "half")),
		"a new database":                 both(unmarked, rename),
		"the database":                   unmarked,
		"the database, a part of a mark": both(unmarked, write("notes.marker.tmp-1", "{")),
		"the marker":                     func(t *testing.T, s store.Spec) { must(t, os.Remove(reference(s))) },
	} {
		t.Run(name, func(t *testing.T) {
			s := specIn(t.TempDir())
			_, closing, err := open(s)
			must(t, err, closing())
			unmake(t, s)
			if _, err := store.Examine(t.Context(), s, true); err != nil {
				t.Errorf("taken for damage: %v", err)
			}
			if n := notes(t, s); n != 0 {
				t.Errorf("%d notes", n)
			}
			if there, err := store.Examine(t.Context(), s, true); !there || err != nil {
				t.Errorf("not whole: %v", err)
			}
		})
	}
}

// TestAKillWhileTheLogIsTurnedOnDoesNotKeepTheHostFromStarting has a database
// whose writer was killed in the middle of a transaction, as in the one that
// turns the write-ahead log on: a journal lies beside it, and only a process
// that writes can put back what the journal holds.
func TestAKillWhileTheLogIsTurnedOnDoesNotKeepTheHostFromStarting(t *testing.T) {
	s, _ := made(t)
	path := filepath.Join(s.Dir, s.File)
	db, err := sql.Open("sqlite", path)
	must(t, err)
	db.SetMaxOpenConns(1)
	for _, step := range []string{
		`PRAGMA journal_mode = DELETE`, `PRAGMA cache_size = 1`, `BEGIN IMMEDIATE`,
		`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) INSERT INTO note SELECT hex(zeroblob(500)) FROM n`,
	} {
		_, err := db.Exec(step)
		must(t, err)
	}
	for _, suffix := range []string{"", "-journal"} { // what a kill leaves at this moment
		data, err := os.ReadFile(path + suffix)
		must(t, err, os.WriteFile(path+suffix+".then", data, 0o600))
	}
	_, err = db.Exec(`ROLLBACK`)
	must(t, err, db.Close())
	for _, suffix := range []string{"", "-journal"} {
		must(t, os.Rename(path+suffix+".then", path+suffix))
	}
	if there, err := store.Examine(t.Context(), s, true); !there || err != nil {
		t.Errorf("taken for damage: %v", err)
	}
	if err := store.Check(t.Context(), s); err != nil {
		t.Errorf("the host would not start: %v", err)
	}
	if n := notes(t, s); n != 1 {
		t.Errorf("%d notes, want the one that was committed", n)
	}
}

func reference(s store.Spec) string { return filepath.Join(s.Home.Installation, s.Name) }

// unmarked is a store before its marker is written.
func unmarked(t *testing.T, s store.Spec) {
	remove("notes.marker")(t, s)
	must(t, os.Remove(reference(s)))
}

func rename(t *testing.T, s store.Spec) {
	must(t, os.Rename(filepath.Join(s.Dir, "notes.db"), filepath.Join(s.Dir, "notes.db.new")))
}

func leftovers(t *testing.T, s store.Spec) {
	must(t, os.MkdirAll(s.Home.Installation, 0o700), os.WriteFile(filepath.Join(s.Home.Installation, "id.tmp-1"), []byte("ab"), 0o600))
}
