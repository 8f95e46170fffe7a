package move

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/host/state"
)

// handle is a transaction or a connection of one engine.
type handle interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Side is one end of a copy.
type Side struct {
	handle

	Postgres bool // else SQLite
}

// Table is a table of the state.
type Table struct {
	Name    string
	Columns []Column
	Key     []int  // indexes of the primary key's columns
	Counter string // the column that the engine numbers; empty: none
	Never   bool   // a number is never used again, even if its row was the last
}

// Column is a column of a Table.
type Column struct {
	Name string
	Type string // INTEGER, TEXT, BLOB or BOOLEAN
}

// tables returns the tables that an SQLite database has, in the order of its schema, but for
// those of package store and of SQLite.
func tables(ctx context.Context, db handle) ([]Table, error) {
	rows, err := db.QueryContext(ctx, `SELECT name, sql LIKE '%AUTOINCREMENT%' FROM sqlite_master WHERE type = 'table' AND name <> 'longshore_store' AND name NOT LIKE 'sqlite%' ORDER BY rowid`)
	all, err := state.All(rows, err, func(rows *sql.Rows) (t Table, err error) { return t, rows.Scan(&t.Name, &t.Never) })
	if err != nil {
		return nil, err
	}
	for i := range all {
		if err := all[i].read(ctx, db); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// typeOf are the types of libraries that have another name for us.
var typeOf = map[string]string{"BIGINT": "INTEGER", "BYTEA": "BLOB", "UUID": "TEXT"}

// value is a column's place in a statement of that side.
func (c Column) value(postgres bool) string {
	if postgres && c.Type == "BOOLEAN" {
		return "CAST(CAST(? AS INTEGER) AS BOOLEAN)" // a bool is bound as a number
	}
	return "?"
}

func (t *Table) read(ctx context.Context, db handle) error {
	rows, err := db.QueryContext(ctx, `SELECT name, type, pk FROM pragma_table_info(?)`, t.Name)
	err = state.Each(rows, err, func() error {
		var c Column
		var key int
		if err := rows.Scan(&c.Name, &c.Type, &key); err != nil {
			return err
		}
		if known, ok := typeOf[strings.ToUpper(c.Type)]; ok {
			c.Type = known
		}
		if key > 0 {
			t.Key = append(t.Key, len(t.Columns))
		}
		t.Columns = append(t.Columns, c)
		return nil
	})
	if len(t.Key) == 1 && t.Columns[t.Key[0]].Type == "INTEGER" {
		t.Counter = t.Columns[t.Key[0]].Name
	}
	return err
}

// names are the columns, with commas between.
func (t *Table) names() string {
	var all []string
	for _, c := range t.Columns {
		all = append(all, c.Name)
	}
	return strings.Join(all, ", ")
}

// each calls see with each row, whose values have the columns' types. see may keep the values, but not
// the slice.
func (t *Table) each(ctx context.Context, db handle, see func(row []any) error) error {
	rows, err := db.QueryContext(ctx, "SELECT "+t.names()+" FROM "+t.Name)
	if err != nil {
		return fmt.Errorf("read the table %s: %w", t.Name, err)
	}
	defer rows.Close()
	row, to := make([]any, len(t.Columns)), make([]any, len(t.Columns))
	for i := range row {
		to[i] = &row[i]
	}
	for rows.Next() {
		clear(row)
		if err := rows.Scan(to...); err != nil {
			return fmt.Errorf("read the table %s: %w", t.Name, err)
		}
		for i, c := range t.Columns {
			row[i] = c.typed(row[i])
		}
		if err := see(row); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the table %s: %w", t.Name, err)
	}
	return nil
}

// typed gives a value the column's type: SQLite keeps bytes in a column of texts, and texts in one of
// bytes.
func (c Column) typed(v any) any {
	switch v := v.(type) {
	case int64:
		if c.Type == "BOOLEAN" {
			return v != 0
		}
	case []byte:
		if c.Type == "TEXT" {
			return string(v)
		}
		return append([]byte{}, v...) // SQLite's driver gives nil for bytes that are none
	case string:
		if c.Type == "BLOB" {
			return []byte(v)
		}
	}
	return v
}

// unfit says why PostgreSQL does not take a value; empty: it does.
func (c Column) unfit(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		switch {
		case c.Type != "TEXT":
			return "a text in place of a number"
		case strings.Contains(v, "\x00"):
			return "a zero byte"
		case !utf8.ValidString(v):
			return "bytes that are not UTF-8"
		}
		return ""
	case int64:
		if c.Type == "INTEGER" {
			return ""
		}
	case bool:
		if c.Type == "BOOLEAN" {
			return ""
		}
	case []byte:
		if c.Type == "BLOB" {
			return ""
		}
	}
	return fmt.Sprintf("a %T in a column of type %s", v, c.Type)
}

// replaceIn changes the texts of a row that PostgreSQL does not take.
func replaceIn(row []any) {
	for i, v := range row {
		if text, ok := v.(string); ok {
			row[i] = replaced(text)
		}
	}
}

// replaced is a text with U+FFFD in place of what PostgreSQL does not take.
func replaced(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
}

const keyShown = 60 // characters

// key is the primary key of a row, for people.
func (t *Table) key(row []any) string {
	var all []string
	for _, i := range t.Key {
		text := fmt.Sprint(row[i])
		if b, ok := row[i].([]byte); ok {
			text = fmt.Sprintf("%x", b)
		}
		if runes := []rune(text); len(runes) > keyShown {
			text = string(runes[:keyShown]) + "…"
		}
		all = append(all, fmt.Sprintf("%s=%q", t.Columns[i].Name, text))
	}
	return strings.Join(all, " ")
}
