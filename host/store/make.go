package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"time"

	"github.com/longshore-bridge/longshore/host/postgres"
)

// ErrPresent is of a store that is to be made and exists.
var ErrPresent = errors.New("the store exists")

// Filler writes the rows of a store that is being made.
type Filler interface {
	Fill(ctx context.Context, tx *sql.Tx) error
}

// Make makes a store with the rows of f, as a whole or not at all, for an installation that may have a
// marker: its database is or was elsewhere. The caller holds the store's lock. The error is ErrPresent if
// the database has tables.
func (s Spec) Make(ctx context.Context, f Filler) error {
	found, err := s.surveyMarks()
	if err != nil {
		return err
	}
	if s.OnServer() {
		err = s.makeServer(ctx, &found, f)
	} else {
		err = s.makeFile(ctx, &found, f)
	}
	if err != nil {
		return err
	}
	return s.writeMarks(found, found.home)
}

func (s Spec) makeFile(ctx context.Context, found *survey, f Filler) error {
	state, err := s.file()
	if err == nil && state == "" {
		err = ErrPresent
	}
	if err == nil {
		found.home, err = s.Home.id(*found)
	}
	if err != nil {
		return err
	}
	return s.create(ctx, found.home, f)
}

func (s Spec) makeServer(ctx context.Context, found *survey, f Filler) error {
	db, err := s.alone()
	if err != nil {
		return err
	}
	defer db.Close()
	row, err := s.readRow(ctx, db)
	if err == nil && row != (mark{}) {
		err = ErrPresent
	}
	if err == nil {
		found.home, err = s.Home.id(*found)
	}
	if err == nil {
		err = makeDir(s.Dir)
	}
	if err == nil {
		err = s.makeFiles()
	}
	if err == nil {
		_, err = s.migrateServer(ctx, db, found.home, f)
	}
	return s.ofServer("make", err)
}

// inTransaction has f write into a database, if it is not nil.
func inTransaction(ctx context.Context, db *sql.DB, f Filler) error {
	if f == nil {
		return nil
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f.Fill(ctx, tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// SetDatabaseAside moves a store's database aside, after the paths in also, and leaves its files and its
// marker: they are of the database that has taken its place. In PostgreSQL its tables go into a schema of
// their own. The caller holds the store's lock.
func (s Spec) SetDatabaseAside(ctx context.Context, now time.Time, also ...string) (m Moved, err error) {
	if !s.OnServer() {
		if err := s.foldLog(ctx); err != nil {
			return m, s.Explain("move aside", err)
		}
	}
	for _, path := range also {
		if err := m.TakeAside(s, path, now); err != nil {
			return m, err
		}
	}
	if s.OnServer() {
		m.Schema, err = s.setServerAside(ctx, now)
		return m, err
	}
	s.Files = ""
	for _, name := range s.belongings() {
		if err := m.take(s, s.Name, filepath.Join(s.Dir, name), now); err != nil {
			return m, err
		}
	}
	return m, nil
}

// foldLog writes what the database's log has into the database, so that it is whole without it.
func (s Spec) foldLog(ctx context.Context) error {
	db, err := s.connect("rw")
	if err != nil {
		return err
	}
	var busy, frames, folded int64
	err = db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &folded)
	if err == nil && busy != 0 {
		err = errors.New("somebody else reads the database")
	}
	return errors.Join(err, db.Close())
}

// Present reports whether a store's database has tables.
func (s Spec) Present(ctx context.Context) (bool, error) {
	if !s.OnServer() {
		state, err := s.file()
		return err == nil && state == "", err
	}
	db, err := s.limited()
	if err != nil {
		return false, err
	}
	defer db.Close()
	row, err := s.readRow(ctx, db)
	return row != (mark{}), s.ofServer("read", err)
}

// Newest is the version of the schema that this program knows.
func (s Spec) Newest() int { return s.version() }

// TakeAside moves what belonged to the database beside it.
func (m *Moved) TakeAside(s Spec, path string, now time.Time) error {
	return m.take(s, s.Name, path, now)
}

var createTable = regexp.MustCompile(`CREATE TABLE (\w+)`)

// setServerAside moves the store's tables into a new schema of the same database.
func (s Spec) setServerAside(ctx context.Context, now time.Time) (schema string, err error) {
	db, err := s.alone()
	if err != nil {
		return "", err
	}
	defer db.Close()
	if row, err := s.readRow(ctx, db); err != nil || row == (mark{}) {
		return "", s.ofServer("move aside", err)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return "", s.ofServer("move aside", err)
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	schema = "aside_" + now.UTC().Format("20060102_150405")
	if s.Library != nil {
		schema += "_" + s.Name
		if _, err = tx.ExecContext(ctx, "ALTER SCHEMA "+postgres.Quoted(s.schema())+" RENAME TO "+postgres.Quoted(schema)); err == nil {
			err = tx.Commit()
		}
		return fmt.Sprintf("the schema %s of %s", schema, s.place()), s.ofServer("move aside", err)
	}
	if _, err = tx.ExecContext(ctx, "CREATE SCHEMA "+schema); err != nil {
		return "", s.ofServer("move aside", err)
	}
	for _, t := range createTable.FindAllStringSubmatch(postgres.Row+s.Schema, -1) {
		if _, err = tx.ExecContext(ctx, "ALTER TABLE IF EXISTS "+t[1]+" SET SCHEMA "+schema); err != nil {
			return "", s.ofServer("move aside", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return "", s.ofServer("move aside", err)
	}
	return fmt.Sprintf("the schema %s of %s", schema, s.place()), nil
}
