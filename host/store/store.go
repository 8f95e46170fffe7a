// Package store opens the host's databases, all in the same way, and detects
// databases that are missing, damaged or exchanged.
//
// A store is one SQLite database in a directory of the host, together with its
// log, its marker and the bytes of its files.
//
//	<dir>/<file>               the database; it holds the store's name and the installation's id
//	<dir>/<name>.marker        both of these, and the schema's version
//	<dir>/<files>/<name>.marker  a copy, by which the files' directory is known: an unmounted disk leaves an empty one
//	state/installation/id      the installation's id
//	state/installation/<name>  the reference: the installation has used this store, even if its directory is gone or not mounted
//	state/aside/…              files moved aside by an operator or by a sweep
//
// If nothing of a store exists, Open creates it: this is a first start. If the
// database is missing or empty while anything else of the store exists, Open
// refuses. It also refuses a database that is damaged, newer than the program,
// or of another installation. Each refusal is an [*Error] with the remedy.
//
// # What a crash leaves
//
// A store is created in this order, each step durable before the next: the
// installation's id; the directory for files; the whole database as <file>.new,
// with its id and its tables; its rename to <file>; the marker; the reference.
// So a half-made store never looks like a damaged one:
//
//	the id alone, or with an
//	empty directory for files    a first start
//	<file>.new                   a first start; <file>.new is created again
//	<file> without the marker    an existing store; the marker is written
//	the files' marker alone      an existing store; the marker is written
//	the marker, no reference     an existing store; the reference is written
//
// A database without an id comes from a release that had no markers. Open adds
// its id first and then its marker, in the same safe order.
//
// # Looking
//
// [Look] reads a store without creating or changing any of its files, whether a
// host runs or not. [Examine] uses it to find everything that keeps [Open] from
// opening the store.
package store

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync/atomic"

	"github.com/longshore-bridge/longshore/host/postgres"
)

// Spec describes a store.
type Spec struct {
	Name string // "state": in markers and messages
	Dir  string // the directory; stores may share one
	File string // the database's name in Dir
	Lock string // name in Dir of the file that a writing process locks, see [Lock]

	// Files is the name of the directory in Dir for the files that the database
	// names; Open creates it. Empty: none.
	Files string

	// Schema creates the tables in the newest version; Steps[i] converts
	// version i+1 to version i+2. SQLite's user_version holds a database's
	// version.
	Schema string
	Steps  []string

	// Library makes the tables in place of Schema. In PostgreSQL they have a schema of their own.
	Library Library

	// Old lists files in Dir by which the directory of a program is known whose stores this
	// one cannot read; LastOfOld is the last commit of that program.
	Old       []string
	LastOfOld string

	Pragmas []string // of every connection that writes, such as "busy_timeout(5000)"
	TxLock  string   // how transactions begin: "immediate"; empty: deferred

	Home Home

	// Server, if it is not zero, is where the database is in place of File.
	Server Server
}

// Library makes the tables of a store whose statements are those of a library.
type Library interface {
	// Newer reports whether a later version of the library has made an SQLite database.
	Newer(ctx context.Context, db *sql.DB) (bool, error)

	// Upgrade makes the tables, or brings them up to date, in steps that can be repeated.
	Upgrade(ctx context.Context, db *sql.DB, postgres bool) error
}

// Home is shared by the stores of one installation. With the zero Home a store
// is on its own: there is no reference to it, and files are moved aside into
// its own directory "aside".
type Home struct {
	Installation string // directory of the id and the references
	Aside        string // directory for files that are moved aside
}

// DB is a store that is open for writing.
type DB struct {
	*sql.DB
	Made bool // this call has created the store: it is empty, and nothing may be swept

	server bool // it is PostgreSQL
	damage damage
}

// damage is the first error by which SQLite said that the database is damaged.
type damage struct{ met atomic.Pointer[error] }

// note remembers err if it says that the database is damaged.
func (d *damage) note(err error) {
	if kind, _ := kindOf(err); kind == ErrDamaged && postgres.Code(err) == "" {
		d.met.CompareAndSwap(nil, &err)
	}
}

// Damage returns the first error by which SQLite said, since Open, that the database is damaged. It is seen in
// commits, and in queries that fail before their first row.
func (d *DB) Damage() error {
	if err := d.damage.met.Load(); err != nil {
		return *err
	}
	return nil
}

// QueryContext is that of [sql.DB].
func (d *DB) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := d.DB.QueryContext(ctx, query, args...)
	d.damage.note(err)
	return rows, err
}

// QueryRowContext is that of [sql.DB].
func (d *DB) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	row := d.DB.QueryRowContext(ctx, query, args...)
	d.damage.note(row.Err())
	return row
}

// Open opens a store for writing, and creates it if nothing of it exists. The
// caller holds the store's lock, and closes the DB. Refusals are *Error.
func Open(ctx context.Context, s Spec) (*DB, error) {
	if s.OnServer() {
		return s.openServer(ctx)
	}
	found, err := s.survey()
	if err != nil {
		return nil, err
	}
	if found.present {
		if found.inside, err = s.inspectPlain(ctx, found); err != nil {
			return nil, err
		}
	}
	id, err := s.Home.id(found)
	if err != nil {
		return nil, err
	}
	if !found.present {
		err = s.create(ctx, id, nil)
	} else {
		err = s.makeFiles() // for a database of a release that created the directory later
	}
	if err != nil {
		return nil, err
	}
	db, err := s.connect("rw")
	if err != nil {
		return nil, err
	}
	if err := s.complete(ctx, db, found, id); err != nil {
		_ = db.Close()
		return nil, err
	}
	return &DB{DB: db, Made: !found.present}, nil
}

// complete migrates an open database and writes its marks.
func (s Spec) complete(ctx context.Context, db *sql.DB, found survey, id string) error {
	err := s.migrate(ctx, db)
	if err == nil && s.Library != nil {
		err = s.Library.Upgrade(ctx, db, false)
	}
	if err != nil {
		return s.Explain("bring up to date", err)
	}
	if found.present && found.inside.Installation == "" {
		if _, err := db.ExecContext(ctx, identitySQL(s.Name, id)); err != nil {
			return s.Explain("mark", err)
		}
	}
	return s.writeMarks(found, id)
}

// version returns the newest version that this program knows; 0 without a
// Schema.
func (s Spec) version() int {
	if s.Schema == "" {
		return 0
	}
	return len(s.Steps) + 1
}

// MarkerName is the name of the marker, in Dir and in the directory of files.
func (s Spec) MarkerName() string { return s.Name + ".marker" }

func (s Spec) path() string          { return filepath.Join(s.Dir, s.File) }
func (s Spec) markerPath() string    { return filepath.Join(s.Dir, s.MarkerName()) }
func (s Spec) filesMarker() string   { return filepath.Join(s.Dir, s.Files, s.MarkerName()) }
func (s Spec) referencePath() string { return filepath.Join(s.Home.Installation, s.Name) }

// aside returns the directory for files of this store that are moved aside.
func (s Spec) aside() string {
	if s.Home.Aside == "" {
		return filepath.Join(s.Dir, "aside")
	}
	return s.Home.Aside
}
