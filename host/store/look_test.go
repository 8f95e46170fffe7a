package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/store"
)

// TestLookingNeitherMakesNorChangesAFile: commands that only look opened the
// store as its owner does, and swept it.
func TestLookingNeitherMakesNorChangesAFile(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(t *testing.T, s store.Spec) // leaves two notes
		locked  bool
	}{
		{"after a clean end", func(t *testing.T, s store.Spec) {
			db, closing, err := open(s)
			must(t, err)
			_, err = db.Exec(`INSERT INTO note VALUES ('second')`)
			must(t, err, closing())
		}, false},
		{"with a log left behind", func(t *testing.T, s store.Spec) { crash(t, s) }, false},
		{"while a host uses it", func(t *testing.T, s store.Spec) {
			db, closing, err := open(s)
			must(t, err)
			t.Cleanup(func() { must(t, closing()) })
			_, err = db.Exec(`INSERT INTO note VALUES ('second')`)
			must(t, err)
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, state := made(t)
			tt.prepare(t, s)
			before := tree(t, state)
			v, err := store.Look(t.Context(), s)
			must(t, err)
			var n int
			must(t, v.QueryRow(`SELECT count(*) FROM note`).Scan(&n))
			if n != 2 {
				t.Errorf("%d notes are seen", n)
			}
			if _, err := v.Exec(`DELETE FROM note`); err == nil && tt.locked {
				t.Error("a view can be written through")
			}
			must(t, v.Close())
			there, err := store.Examine(t.Context(), s, true)
			if !there || errors.Is(err, store.ErrLocked) != tt.locked || err != nil && !tt.locked {
				t.Errorf("examined: %v, %v", there, err)
			}
			if got := store.InUse(s); got != tt.locked {
				t.Errorf("in use: %v", got)
			}
			if diff := cmp.Diff(before, tree(t, state)); diff != "" {
				t.Errorf("looking changed something:\n%s", diff)
			}
		})
	}
}

// crash adds a note and leaves the store as a crash does, its log not folded in.
func crash(t *testing.T, s store.Spec) {
	t.Helper()
	db, closing, err := open(s)
	must(t, err)
	_, err = db.Exec(`INSERT INTO note VALUES ('second')`)
	must(t, err)
	kept := map[string][]byte{}
	for _, name := range []string{"notes.db", "notes.db-wal"} {
		kept[name], err = os.ReadFile(filepath.Join(s.Dir, name))
		must(t, err)
	}
	must(t, closing())
	for name, data := range kept {
		must(t, os.WriteFile(filepath.Join(s.Dir, name), data, 0o600))
	}
}

func TestASecondWriterIsRefusedAndOneWhoLooksIsWaitedFor(t *testing.T) {
	s, _ := made(t)
	v, err := store.Look(t.Context(), s)
	must(t, err)
	opened := make(chan error, 1)
	go func() {
		_, closing, err := open(s)
		if err == nil {
			err = closing()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatalf("opened beside somebody who reads the very file: %v", err)
	default:
	}
	must(t, v.Close(), <-opened)
	_, closing, err := open(s)
	must(t, err)
	if _, _, err := open(s); !errors.Is(err, store.ErrLocked) {
		t.Errorf("a second writer: %v", err)
	}
	must(t, closing())
}

// during is a context that does something at the first question whether it is done.
type during struct {
	context.Context
	do func()
}

func (d *during) Err() error {
	if do := d.do; do != nil {
		d.do = nil
		do()
	}
	return d.Context.Err()
}

// TestACopyAfterACrashKeptAHostFromStarting: it held the lock for as long as it took.
func TestACopyAfterACrashKeptAHostFromStarting(t *testing.T) {
	s, _ := made(t)
	crash(t, s)
	started := false
	ctx := &during{t.Context(), func() {
		db, closing, err := open(s)
		must(t, err)
		started = true
		_, err = db.Exec(`INSERT INTO note VALUES ('third')`)
		must(t, err, closing())
	}}
	v, err := store.Look(ctx, s)
	must(t, err)
	defer v.Close()
	var n int
	must(t, v.QueryRow(`SELECT count(*) FROM note`).Scan(&n))
	if !started || n != 3 {
		t.Errorf("started: %t; %d notes are seen", started, n)
	}
}

// TestAShellWaitedForACopyOfTheStore, at each Tab after a crash.
func TestAShellWaitedForACopyOfTheStore(t *testing.T) {
	s, _ := made(t)
	crash(t, s)
	if v, err := store.Glance(t.Context(), s); v != nil || err != nil {
		t.Errorf("glanced at: %v, %v", v, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := store.Look(&during{ctx, cancel}, s); !errors.Is(err, context.Canceled) {
		t.Errorf("copied although nobody waits: %v", err)
	}
	_, closing, err := open(s)
	must(t, err, closing())
	v, err := store.Glance(t.Context(), s)
	must(t, err)
	must(t, v.Close())
}
