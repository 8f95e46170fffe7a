package fstest

import (
	"os"
	"path/filepath"
	"testing"
)

// The sizes of an SQLite log's parts: sqlite.org/fileformat.html#the_write_ahead_log,
// with the page size that is the default.
const (
	walHeader = 32
	walFrame  = 24 + 4096
)

// EachCut copies an SQLite database once for each place at which a kill or a power loss
// may have cut its log off: behind each page, and in the middle of one. look is given
// the copy's path.
func EachCut(t testing.TB, database string, look func(path string)) {
	t.Helper()
	db, err := os.ReadFile(database)
	if err != nil {
		t.Fatal(err)
	}
	wal, err := os.ReadFile(database + "-wal")
	if err != nil || len(wal) < walHeader+walFrame {
		t.Fatalf("the log has %d bytes: %v", len(wal), err)
	}
	for at := 0; at <= len(wal); {
		path := filepath.Join(t.TempDir(), filepath.Base(database))
		if err := os.WriteFile(path, db, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+"-wal", wal[:at], 0o600); err != nil {
			t.Fatal(err)
		}
		look(path)
		if at == 0 {
			at = walHeader
		} else {
			at += walFrame / 2
		}
	}
}
