package store_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/fstest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(makeEnv); dir != "" {
		makeStores(dir)
	}
	if path := os.Getenv(lockEnv); path != "" {
		holdLock(path)
	}
	fstest.Memory()
	goleak.VerifyTestMain(m)
}

const notesSchema = `CREATE TABLE note (words TEXT); CREATE INDEX note_words ON note (words);`

// specIn describes the store "notes" of the installation in state.
func specIn(state string) store.Spec {
	return store.Spec{
		Name: "notes", Dir: filepath.Join(state, "notes"), File: "notes.db", Lock: "lock", Files: "files",
		Schema:  notesSchema,
		Pragmas: []string{"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)"},
		Home:    store.Home{Installation: filepath.Join(state, "installation"), Aside: filepath.Join(state, "aside")},
	}
}

// open opens a store as its owner does.
func open(s store.Spec) (db *store.DB, closing func() error, err error) {
	lock, err := store.Lock(s)
	if err != nil {
		return nil, nil, err
	}
	if db, err = store.Open(context.Background(), s); err != nil {
		return nil, nil, errors.Join(err, lock.Close())
	}
	return db, func() error { return errors.Join(db.Close(), lock.Close()) }, nil
}

// made is a store with one note and one file.
func made(t *testing.T) (store.Spec, string) {
	t.Helper()
	state := t.TempDir()
	s := specIn(state)
	db, closing, err := open(s)
	must(t, err)
	_, err = db.Exec(`INSERT INTO note VALUES ('kept')`)
	must(t, err, closing(),
		os.WriteFile(filepath.Join(s.Dir, "files", "a"), []byte("bytes"), 0o600))
	return s, state
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// notes counts what the store holds.
func notes(t *testing.T, s store.Spec) (n int) {
	t.Helper()
	db, closing, err := open(s)
	must(t, err)
	must(t, db.QueryRow(`SELECT count(*) FROM note`).Scan(&n), closing())
	return n
}

// tree is everything below a directory: names, modes, times and contents; of
// the index of a log that is in use, its name.
func tree(t testing.TB, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		words := fmt.Sprint(fi.Mode())
		if fi.Mode().IsRegular() && !strings.HasSuffix(path, "-shm") {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			words += fmt.Sprintf(" %d %x", fi.ModTime().UnixNano(), sha256.Sum256(data))
		}
		all[path] = words
		return nil
	}))
	return all
}
