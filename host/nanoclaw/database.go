package nanoclaw

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

const (
	databaseFile = "store/messages.db"

	// maxRows is how many groups are read. A configuration with so many is
	// close to its own size limit.
	maxRows = 1000

	// readTime limits the time for a database that was made to be slow.
	readTime = 30 * time.Second
)

// readDatabase reads the registry from the database. found is false if the
// database or the registry in it is missing.
func (f *Found) readDatabase(ctx context.Context) (found bool, err error) {
	err = readCopy(ctx, f.Dir, "read "+databaseFile, func(ctx context.Context, db *sql.DB) error {
		found, err = f.readTables(ctx, db)
		return err
	})
	return found && err == nil, err
}

// readCopy calls read with a copy of the database of the installation at dir, if there is one. what says
// in an error what is read.
func readCopy(ctx context.Context, dir, what string, read func(context.Context, *sql.DB) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	tmp, err := os.MkdirTemp("", "longshore-import-")
	if err != nil {
		return fmt.Errorf("copy database: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	path, err := copyDatabase(filepath.Join(dir, databaseFile), tmp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("copy database: %w", err)
	}
	// The schema is untrusted too, so it may not call functions with side
	// effects.
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: "_pragma=trusted_schema(0)"}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := read(ctx, db); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// list returns the rows of a query, each as into points to its columns.
func list[T any](ctx context.Context, db *sql.DB, query string, into func(*T) []any, args ...any) (all []T, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var one T
		if err := rows.Scan(into(&one)...); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// copyDatabase copies the database with its log. Opened in place, SQLite would
// create or delete files beside it.
func copyDatabase(from, dir string) (string, error) {
	path := filepath.Join(dir, "messages.db")
	for _, suffix := range []string{"", "-wal", "-journal"} {
		err := copyFile(from+suffix, path+suffix)
		if err != nil && (suffix == "" || !errors.Is(err, fs.ErrNotExist)) {
			return "", err
		}
	}
	return path, nil
}

func copyFile(from, to string) error {
	src, err := openPlain(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

func (f *Found) readTables(ctx context.Context, db *sql.DB) (found bool, err error) {
	columns, err := columnsOf(ctx, db, "registered_groups")
	if err != nil || len(columns) == 0 {
		return false, err
	}
	f.Source = databaseFile
	if f.Rows, err = readRows(ctx, db, columns); err != nil {
		return false, err
	}
	if len(f.Rows) > maxRows {
		f.Rows = f.Rows[:maxRows]
		f.note("there are more than %d groups; the others were not read", maxRows)
	}
	tasks, err := columnsOf(ctx, db, "scheduled_tasks")
	if err == nil && slices.Contains(tasks, "status") {
		err = db.QueryRowContext(ctx, `SELECT count(*) FROM scheduled_tasks WHERE status = 'active'`).Scan(&f.Tasks)
	}
	return true, err
}

// columnsOf lists the columns of a table; none if there is no table of that
// name. It ignores views, since a view could run without end.
func columnsOf(ctx context.Context, db *sql.DB, table string) ([]string, error) {
	return list(ctx, db, `SELECT c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name = ?`,
		func(name *string) []any { return []any{name} }, table)
}

// readRows reads the registry in either version of its schema: requires_trigger
// and is_main were added later. Before is_main, the main group was the one with
// the folder main.
func readRows(ctx context.Context, db *sql.DB, columns []string) ([]Row, error) {
	needs, main := "1", "folder = 'main'"
	if slices.Contains(columns, "requires_trigger") {
		needs = "coalesce(requires_trigger, 1) <> 0"
	}
	if slices.Contains(columns, "is_main") {
		main = "coalesce(is_main, 0) <> 0"
	}
	return list(ctx, db, fmt.Sprintf(`
		SELECT %s, %s, %s, %s, %s, %s, %s FROM registered_groups ORDER BY added_at, jid LIMIT %d`,
		text("jid", 1<<10), text("name", 4<<10), text("folder", 1<<10), text("trigger_pattern", 1<<10), text("container_config", 64<<10),
		needs, main, maxRows+1), func(r *Row) []any {
		return []any{&r.Chat, &r.Name, &r.Folder, &r.Trigger, &r.Config, &r.NeedsTrigger, &r.Main}
	})
}

// text returns SQL for a column's value as text, whatever its type, cut far
// beyond any length that would be accepted.
func text(column string, most int) string {
	return fmt.Sprintf("substr(CAST(coalesce(%s, '') AS TEXT), 1, %d)", column, most)
}
