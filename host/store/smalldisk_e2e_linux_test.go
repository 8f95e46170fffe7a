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
