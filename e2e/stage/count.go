package stage

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// Count reads a number from the state in dir, whether its host runs or not; 0 if there is no
// state yet.
func Count(t testing.TB, dir, query string, args ...any) (n int) {
	t.Helper()
	path := filepath.Join(dir, "longshore.db")
	if _, err := os.Stat(path); err != nil {
		return 0
	}
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
