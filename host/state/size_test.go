package state_test

import (
	"context"
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// Every request of a page opened SQLite anew, and as many at once as there were requests.
func TestReadersOpenedConnectionsWithoutEnd(t *testing.T) {
	db := statetest.Open(t, t.TempDir())
	most := db.Stats().MaxOpenConnections
	if most < 2 || most > 16 {
		t.Fatalf("%d connections may be open", most)
	}
	var all []*sql.Conn
	for range most - 1 { // one is the committer's
		c, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	if _, err := db.Exec(t.Context(), `INSERT INTO served_group (folder) VALUES ('a')`); err != nil {
		t.Errorf("readers keep the writer out: %v", err)
	}
	for _, c := range all {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if s := db.Stats(); s.MaxIdleClosed != 0 || s.Idle != most-1 {
		t.Errorf("%d connections wait for the next reader, %d were closed", s.Idle, s.MaxIdleClosed)
	}
}

// The file stayed as large as it had been when it held most.
func TestTheSpaceOfDeletedRowsWasNeverGivenBack(t *testing.T) {
	statetest.SQLiteOnly(t, "it is about the size of the database file")
	db := statetest.Open(t, t.TempDir())
	fill(t, db, 400)
	exec(t, db, `DELETE FROM bytes WHERE id % 8 <> 0`)
	before := number(t, db, "PRAGMA page_count")
	if err := db.Shrink(t.Context(), 50); err != nil {
		t.Fatal(err)
	}
	if free := number(t, db, "PRAGMA freelist_count"); free < 40 || free > 50 {
		t.Errorf("%d pages are free, want about 50", free)
	}
	if after := number(t, db, "PRAGMA page_count"); after > before/3 {
		t.Errorf("the database has %d pages, and had %d", after, before)
	}
	if n := number(t, db, `SELECT COUNT(*) FROM bytes WHERE length(data) = 20000`); n != 50 {
		t.Errorf("%d rows are left, want 50", n)
	}
}

// A database that was repaired by hand gives no page back: it was shrunk without end.
func TestARepairedDatabaseWasShrunkWithoutEnd(t *testing.T) {
	statetest.SQLiteOnly(t, "it is about the size of the database file")
	dir := t.TempDir()
	_, end := statetest.Start(t, dir)
	end()
	raw, err := sql.Open("sqlite", filepath.Join(dir, "longshore.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.Exec("PRAGMA auto_vacuum = NONE; VACUUM"); err != nil {
		t.Fatal(err)
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	db := statetest.Open(t, dir)
	fill(t, db, 100)
	exec(t, db, `DELETE FROM bytes`)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := db.Shrink(ctx, 10); err != nil || number(t, db, "PRAGMA auto_vacuum") != 0 {
		t.Errorf("%v", err)
	}
	if free := number(t, db, "PRAGMA freelist_count"); free <= 10 {
		t.Errorf("%d pages are free: the test tries nothing", free)
	}
}

// The log stayed as large as the largest change.
func TestTheLogStayedAsLargeAsTheLargestChange(t *testing.T) {
	statetest.SQLiteOnly(t, "it is about the size of the database file")
	dir := t.TempDir()
	db := statetest.Open(t, dir)
	size := func() int64 {
		st, err := os.Stat(filepath.Join(dir, "longshore.db-wal"))
		if err != nil {
			t.Fatal(err)
		}
		return st.Size()
	}
	exec(t, db, `INSERT INTO bytes (id, data) VALUES (1, randomblob(12000000))`)
	if size() < 12_000_000 {
		t.Fatalf("the log has %d bytes", size())
	}
	for range 3 {
		exec(t, db, `UPDATE delivery_order SET last = last + 1`)
	}
	if size() > 8<<20 {
		t.Errorf("the log still has %d bytes", size())
	}
}

// A commit copied the log into the database, and all waited who write.
func TestACommitCopiedTheLogIntoTheDatabase(t *testing.T) {
	statetest.SQLiteOnly(t, "it is about the size of the database file")
	dir := t.TempDir()
	db := statetest.Open(t, dir)
	size := func() int64 {
		st, err := os.Stat(filepath.Join(dir, "longshore.db"))
		if err != nil {
			t.Fatal(err)
		}
		return st.Size()
	}
	exec(t, db, `INSERT INTO bytes (id, data) VALUES (1, randomblob(6000000))`)
	if size() > 3_000_000 {
		t.Error("the commit has copied the log")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- db.Run(ctx, slog.New(slog.DiscardHandler)) }()
	for tick := time.Tick(time.Millisecond); size() < 6_000_000; {
		<-tick
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// BenchmarkPutWhileShrinks commits one small row after another while 400 MB are given back.
func BenchmarkPutWhileShrinks(b *testing.B) {
	db := statetest.Open(b, b.TempDir())
	for range 50 {
		fill(b, db, 400)
	}
	exec(b, db, `DELETE FROM bytes WHERE id % 8 <> 0`)
	ended := make(chan error, 1)
	go func() { ended <- db.Shrink(b.Context(), 1024) }()
	measure(b, db, "", func() bool { return len(ended) == 0 })
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}

// fill adds rows of 20,000 bytes.
func fill(t testing.TB, db *state.DB, rows int) {
	t.Helper()
	exec(t, db, `INSERT INTO bytes (id, data) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		SELECT (SELECT COALESCE(MAX(id), 0) FROM bytes) + i, zeroblob(20000) FROM n`, rows)
}

func exec(t testing.TB, db *state.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

func number(t testing.TB, db *state.DB, query string) (n int64) {
	t.Helper()
	if err := db.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
