package state_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/host/store"
)

func open(t *testing.T, dir string) (*state.DB, error) {
	t.Helper()
	return state.Open(t.Context(), statetest.Spec(dir), slog.New(slog.DiscardHandler))
}

func TestSecondHostRefusesToStart(t *testing.T) {
	dir := t.TempDir()
	d := statetest.Open(t, dir)
	if _, err := open(t, dir); !errors.Is(err, store.ErrLocked) {
		t.Errorf("a second host started: %v", err)
	}
	if _, err := d.Exec(t.Context(), `UPDATE delivery_order SET last = 1`); err != nil {
		t.Error(err)
	}
}

// TestAStateOfBeforeIsNotTakenForAnEmptyOne: its messages would never be sent.
func TestAStateOfBeforeIsNotTakenForAnEmptyOne(t *testing.T) {
	statetest.SQLiteOnly(t, "it is about the database file")
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "outbox"), 0o700), os.WriteFile(filepath.Join(dir, "outbox", "outbox.db"), []byte("old"), 0o600)); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, dir)
	if e, ok := errors.AsType[*store.Error](err); !ok || !errors.Is(err, store.ErrOld) || !strings.Contains(e.Remedy, "commit 4156e766") {
		t.Errorf("opened: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "longshore.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was made: %v", err)
	}
}

func TestUnusableDatabaseNamesTheRemedy(t *testing.T) {
	statetest.SQLiteOnly(t, "it is about the database file")
	// spoil overwrites some of the bytes of each page, from the given place on.
	spoil := func(t *testing.T, path string, from, step int64, with []byte) {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		st, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		for at := from; at < st.Size(); at += step {
			if _, err := f.WriteAt(with, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	wrong := func(n int) []byte { return []byte(strings.Repeat("\xa5", n)) }
	for name, tt := range map[string]struct {
		from, step int64
		with       []byte
		want       error
	}{
		"no database":       {0, 500, []byte(strings.Repeat("this is no database ", 25)), store.ErrDamaged},
		"pages overwritten": {100, 512, wrong(400), store.ErrDamaged},
		"the pages behind the schema overwritten": {4096, 4096, wrong(4096), store.ErrDamaged},
		"of a later version":                      {60, 1 << 40, []byte{0, 0, 0, 99}, store.ErrNewer}, // user_version, big endian
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := statetest.Open(t, dir).Close(); err != nil {
				t.Fatal(err)
			}
			spoil(t, filepath.Join(dir, "longshore.db"), tt.from, tt.step, tt.with)
			d, err := open(t, dir)
			if e, ok := errors.AsType[*store.Error](err); !errors.Is(err, tt.want) || !ok || e.Remedy == "" {
				t.Errorf("opened: %v", err)
			}
			if err == nil {
				d.Close()
			}
		})
	}
}

// TestAChangeWasAcknowledgedIntoAFileThatIsGone: nobody finds it there.
func TestAChangeWasAcknowledgedIntoAFileThatIsGone(t *testing.T) {
	statetest.SQLiteOnly(t, "it is about the database file")
	dir := t.TempDir()
	d := statetest.Open(t, dir)
	path := filepath.Join(dir, "longshore.db")
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	_, err := d.Exec(t.Context(), `UPDATE delivery_order SET last = 1`)
	if err == nil || !strings.Contains(err.Error(), "moved or replaced") || strings.Contains(err.Error(), dir) {
		t.Errorf("written: %v", err)
	}
	if err := os.Rename(path+".old", path); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Exec(t.Context(), `UPDATE delivery_order SET last = 1`); err != nil {
		t.Errorf("after it was put back: %v", err)
	}
}
