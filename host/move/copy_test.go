package move

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/host/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// filled is a state each of whose tables has rows.
func filled(t *testing.T, rows int) *state.DB {
	t.Helper()
	db := statetest.Open(t, t.TempDir())
	fill(t, db.DB.DB, rows)
	return db
}

// fill puts rows with all kinds of values into each table.
func fill(t *testing.T, to *sql.DB, rows int) {
	t.Helper()
	db, err := to.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Commit(); err != nil {
			t.Error(err)
		}
	}()
	all, err := tables(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range all {
		var check bool
		if err := db.QueryRow(`SELECT sql LIKE '%CHECK (id = 1)%' FROM sqlite_master WHERE name = ?`, table.Name).Scan(&check); err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			if check && i > 0 {
				break
			}
			var row []any
			for n, c := range table.Columns {
				row = append(row, value(c, i, n, slices.Contains(table.Key, n), check))
			}
			w := rowsOf{to: Side{handle: db}, table: &table}
			if err := w.add(t.Context(), row); err != nil {
				t.Fatal(err)
			}
			if err := w.flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if table.Never { // its newest number is not used again
			if _, err := db.Exec("DELETE FROM "+table.Name+" WHERE "+table.Counter+" > ?", rows-2); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func value(c Column, row, column int, key, one bool) any {
	switch c.Type {
	case "INTEGER":
		if one && key {
			return int64(1)
		}
		return int64(row + 1)
	case "TEXT":
		return fmt.Sprintf("%d.%d ü漢\U0001F600 '\"\\%%?$1 \r\n\t\u2028", row, column)
	}
	if c.Name == "saved" || c.Name == "session" && row%2 == 0 {
		return nil
	}
	if !key && row%3 == 0 {
		return []byte{}
	}
	return append([]byte(fmt.Sprint(row)), 0, 0xff, 0xfe, '\'')
}

// begin is a transaction of a database.
func begin(t *testing.T, db *sql.DB) Side {
	t.Helper()
	tx, err := db.BeginTx(context.WithoutCancel(t.Context()), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return Side{handle: tx}
}

// No table of the schema is forgotten, and every row of each arrives, with the numbers that are never
// used again.
func TestEveryTableArrivesWhole(t *testing.T) {
	from, to := filled(t, 450), statetest.Open(t, t.TempDir())
	a, b := begin(t, from.DB.DB), begin(t, to.DB.DB)
	got := copied(t, a, b, false)
	var names, want []string
	for _, one := range got {
		names = append(names, one.Table)
		if one.Rows == 0 {
			t.Errorf("the table %s had no rows", one.Table)
		}
	}
	for _, m := range regexp.MustCompile(`CREATE TABLE (\w+)`).FindAllStringSubmatch(state.Spec("", store.Home{}).Schema, -1) {
		want = append(want, m[1])
	}
	if diff := cmp.Diff(want, names); diff != "" || len(want) < 30 {
		t.Errorf("the schema's tables (-) and those that were copied (+):\n%s", diff)
	}
	if differs, err := differing(t, a, b); differs != "" || err != nil {
		t.Errorf("%s, %v", differs, err)
	}
	for _, table := range []string{"held", "journal_inbound", "page_message"} {
		var seq int64
		if err := b.QueryRowContext(t.Context(), `SELECT seq FROM sqlite_sequence WHERE name = ?`, table).Scan(&seq); err != nil || seq != 450 {
			t.Errorf("%s goes on behind %d, %v", table, seq, err)
		}
	}
}

// One flipped bit, one lost row or one forgotten number is found, in any table.
func TestWhatDiffersIsFoundInAnyTable(t *testing.T) {
	from, to := filled(t, 5), statetest.Open(t, t.TempDir())
	a, b := begin(t, from.DB.DB), begin(t, to.DB.DB)
	copied(t, a, b, false)
	all, err := tables(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range all {
		last := table.Columns[len(table.Columns)-1]
		change := "UPDATE " + table.Name + " SET " + last.Name + " = " + map[string]string{"INTEGER": last.Name + " + 1000000", "TEXT": last.Name + " || ' '", "BLOB": "x'01'"}[last.Type] + " WHERE rowid = (SELECT MIN(rowid) FROM " + table.Name + ")"
		if _, err := b.ExecContext(t.Context(), "SELECT rowid FROM "+table.Name); err != nil { // WITHOUT ROWID
			first := table.Columns[table.Key[0]].Name
			change = strings.Split(change, " WHERE ")[0] + " WHERE " + first + " = (SELECT MIN(" + first + ") FROM " + table.Name + ")"
		}
		changes := []string{change, "DELETE FROM " + table.Name}
		if table.Never {
			changes = append(changes, "UPDATE sqlite_sequence SET seq = 4 WHERE name = '"+table.Name+"'")
		}
		for _, change := range changes {
			if _, err := b.ExecContext(t.Context(), "SAVEPOINT one"); err != nil {
				t.Fatal(err)
			}
			if _, err := b.ExecContext(t.Context(), change); err != nil && !strings.Contains(err.Error(), "CHECK") {
				t.Fatalf("%s: %v", change, err)
			} else if differs, err2 := differing(t, a, b); err == nil && (differs != table.Name || err2 != nil) {
				t.Errorf("%s: %q differs, %v", change, differs, err2)
			}
			if _, err := b.ExecContext(t.Context(), "ROLLBACK TO one; RELEASE one"); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What PostgreSQL refuses is named before anything is written, and may be replaced.
func TestTextsThatPostgresRefusesAreNamedFirst(t *testing.T) {
	from := filled(t, 20)
	for _, bad := range []string{
		`UPDATE part SET text = 'a' || char(0) || 'b' WHERE delivery = 7`,
		`UPDATE inbound_message SET body = CAST(x'61ff62' AS TEXT) WHERE id = 9`,
		`UPDATE task SET due = 'never' WHERE id LIKE '5.%'`,
	} {
		if _, err := from.DB.DB.Exec(bad); err != nil {
			t.Fatal(err)
		}
	}
	a := begin(t, from.DB.DB)
	got, err := unfit(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i].Key = strings.Fields(got[i].Key)[0]
	}
	want := []Unfit{
		{"part", `delivery="7"`, "text", "a zero byte", true}, {"task", `id="5.0`, "due", "a text in place of a number", false},
		{"inbound_message", `id="9"`, "body", "bytes that are not UTF-8", true},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Unfit{})); diff != "" {
		t.Error(diff)
	}
	b := begin(t, statetest.Open(t, t.TempDir()).DB.DB)
	copied(t, a, b, true)
	var text, body string
	if err := b.QueryRowContext(t.Context(), `SELECT text, (SELECT body FROM inbound_message WHERE id = 9) FROM part WHERE delivery = 7`).Scan(&text, &body); err != nil || text != "a\ufffdb" || body != "a\ufffdb" {
		t.Errorf("%q, %q, %v", text, body, err)
	}
}

// The disk is full in the middle: nothing of the copy is there.
func TestAFullDiskLeavesTheTargetEmpty(t *testing.T) {
	from, dir := filled(t, 200), t.TempDir()
	to, end := statetest.Start(t, dir)
	var pages int64
	if err := to.QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	conn, err := to.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages+50)); err != nil {
		t.Fatal(err)
	}
	tx, err := conn.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	a := begin(t, from.DB.DB)
	o := Options{Progress: silent{}}
	if _, err := o.tables(t.Context(), a, Side{handle: tx}); err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("%v", err)
	}
	_ = tx.Rollback()
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	end()
	fresh := begin(t, statetest.Open(t, t.TempDir()).DB.DB)
	if differs, err := differing(t, fresh, begin(t, statetest.Open(t, dir).DB.DB)); differs != "" || err != nil {
		t.Errorf("%s has rows, %v", differs, err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}

type silent struct{}

func (silent) Say(string, ...any) {}

func copied(t *testing.T, from, to Side, replace bool) []Copied {
	t.Helper()
	o := Options{Progress: silent{}, Replace: replace}
	all, err := o.tables(t.Context(), from, to)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// differing is the first table that is not the same on both sides.
func differing(t *testing.T, a, b Side) (string, error) {
	t.Helper()
	all, err := tables(t.Context(), layoutOf(a, b))
	for i := range all {
		_, same, err := equal(t.Context(), a, b, &all[i], false)
		if err != nil || !same {
			return all[i].Name, err
		}
	}
	return "", err
}
