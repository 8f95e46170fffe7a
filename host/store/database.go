package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// connect opens the database: in mode "rw" with the store's pragmas, or in mode
// "ro" without.
func (s Spec) connect(mode string) (*sql.DB, error) {
	q := url.Values{"mode": {mode}, "_pragma": {"busy_timeout(5000)"}}
	if mode == "rw" {
		q["_pragma"] = s.Pragmas
		if s.TxLock != "" {
			q.Set("_txlock", s.TxLock)
		}
	}
	return connect(s.path(), q)
}

func connect(path string, query url.Values) (*sql.DB, error) {
	if err := registerVFS(); err != nil {
		return nil, err
	}
	query.Set("vfs", vfsName)
	return sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String())
}

// create creates the whole database under another name and then renames it.
// After a crash before the rename, the next call starts again. rows, which may be nil, writes its rows.
func (s Spec) create(ctx context.Context, id string, rows Filler) error {
	fresh := s.path() + ".new"
	if err := errors.Join(makeDir(s.Dir), s.makeFiles()); err != nil {
		return s.Explain("make", err)
	}
	// An empty log and its index belong to no database. SQLite must not use
	// them for the new one.
	for _, name := range []string{fresh, fresh + "-journal", s.path() + "-wal", s.path() + "-shm", s.path() + "-journal"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s.Explain("make", err)
		}
	}
	// Created here, so that no other user can read it at any time; SQLite gives
	// the log the same mode.
	f, err := os.OpenFile(fresh, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return s.Explain("make", err)
	}
	defer f.Close()
	if err := s.fill(ctx, fresh, id, rows); err != nil {
		return s.Explain("make", err)
	}
	if err := errors.Join(f.Sync(), os.Rename(fresh, s.path()), safefs.SyncDir(s.Dir)); err != nil {
		return s.Explain("make", err)
	}
	return nil
}

// makeFiles creates the directory for files.
func (s Spec) makeFiles() error {
	if s.Files == "" {
		return nil
	}
	return makeDir(filepath.Join(s.Dir, s.Files))
}

func (s Spec) fill(ctx context.Context, path, id string, rows Filler) error {
	q := url.Values{"mode": {"rw"}, "_pragma": {"synchronous(FULL)", "auto_vacuum(INCREMENTAL)"}}
	if s.Library != nil {
		q.Add("_pragma", "foreign_keys(1)")
	}
	db, err := connect(path, q)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "BEGIN IMMEDIATE;"+identitySQL(s.Name, id)+"COMMIT;")
	if err == nil {
		err = s.migrate(ctx, db)
	}
	if err == nil && s.Library != nil {
		err = s.Library.Upgrade(ctx, db, false)
	}
	if err == nil {
		err = inTransaction(ctx, db, rows)
	}
	return errors.Join(err, db.Close())
}

// migrate creates the tables, or runs the steps that have not run yet.
func (s Spec) migrate(ctx context.Context, db *sql.DB) error {
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	for version < s.version() {
		step, to := s.Schema, s.version()
		if version > 0 {
			step, to = s.Steps[version-1], version+1
		}
		script := fmt.Sprintf("BEGIN IMMEDIATE;\n%s\n;PRAGMA user_version = %d;\nCOMMIT;", step, to)
		if _, err := db.ExecContext(ctx, script); err != nil {
			return err
		}
		version = to
	}
	return nil
}
