//go:build e2e && linux

package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/fstest"
)

// TestAFullDiskHasWords: SQLite's are "database or disk is full (13)".
func TestAFullDiskHasWords(t *testing.T) {
	mount := fstest.SmallDisk(t, "256k")
	db, closing, err := open(specIn(mount))
	must(t, err)
	for err == nil {
		_, err = db.Exec(`INSERT INTO note VALUES (?)`, strings.Repeat("x", 4096))
	}
	if err := store.Words(err); !errors.Is(err, store.ErrFull) || !strings.HasPrefix(err.Error(), "the disk is full") {
		t.Error(err)
	}
	if err := closing(); err != nil {
		t.Log("closed with:", err)
	}
	if err := os.WriteFile(filepath.Join(mount, "x"), make([]byte, 1<<20), 0o600); !errors.Is(store.Words(err), store.ErrFull) {
		t.Error(err)
	}
}

// A disk without room for the index of the log was told as one that reports an error, whose remedy is
// another one.
func TestAFullDiskAtTheStartWasADiskWithErrors(t *testing.T) {
	mount := fstest.SmallDisk(t, "1m")
	_, closing, err := open(specIn(mount))
	must(t, err)
	must(t, closing())
	fill, err := os.Create(filepath.Join(mount, "fill"))
	must(t, err)
	defer fill.Close()
	for n := 1 << 16; n > 0; {
		if _, err := fill.Write(make([]byte, n)); err != nil {
			n /= 2
		}
	}
	db, closing, err := open(specIn(mount))
	if err == nil {
		_, err = db.Exec(`INSERT INTO note VALUES ('x')`)
		defer closing()
	}
	if err := store.Words(err); !errors.Is(err, store.ErrFull) {
		t.Error(err)
	}
}
