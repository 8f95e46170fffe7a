// Package store opens the host's databases, one way for all of them, and keeps
// what belongs to a database from being taken for nobody's.
//
// A store is one SQLite database in a directory of the host's own, and what
// lies beside it: its log, its marker, the bytes of its files.
//
//	<dir>/<file>               the database; it holds the store's name and the installation's id
//	<dir>/<name>.marker        the same two, and the schema's version
//	state/installation/id      the installation's id
//	state/installation/<name>  there was such a store: its directory may be gone, or not be mounted
//	state/aside/…              what was put aside, by an operator or by a sweep
//
// A store of which nothing is there is made: a first start. A store whose
// database is missing or empty while anything else of the store is there is
// not opened, and neither is a database that is damaged, newer than the
// program, or of another installation: each is an [*Error] with the remedy.
//
// # What a crash leaves
//
// A store is made in this order, each step durable before the next: the
// installation's id; the directory for files; the database as <file>.new, whole, with its id and its
// tables; its rename to <file>; the marker; the reference. So there is no
// instant in which a half-made store looks like a damaged one:
//
//	the id alone, or with an
//	empty directory for files    a first start
//	<file>.new                   a first start; the leftover is made anew
//	<file> without the marker    an existing store; the marker is written
//	the marker, no reference     an existing store; the reference is written
//
// A database without an id is one of a release that had no markers: it is
// taken in, its id first and then its marker, with the same property.
//
// # Looking
//
// [Look] reads a store without making or changing a file in it, whether a host
// runs or not, and [Examine] finds in that way all that keeps [Open] from
// opening it.
package store

import (
	"context"
	"database/sql"
	"path/filepath"
)

// Spec describes a store.
type Spec struct {
	Name string // "outbox": in markers and messages
	With string // the name that commands use for stores which belong together; empty: Name
	Dir  string // the directory; stores may share one
	File string // the database's name in Dir
	Lock string // name in Dir of the file that a process locks which writes, see [Lock]

	// Files names the directory in Dir of the bytes that the database names;
	// Open makes it. Empty: there is none.
	Files string

	// Rest names further files in Dir that belong to the database.
	Rest []string

	// Schema makes the tables in the newest version, and Steps[i] makes version
	// i+2 of version i+1. SQLite's user_version says which a database has. No
	// Schema: somebody else makes the tables, and Newer knows versions.
	Schema string
	Steps  []string

	// Newer says whether a database without a Schema is of a later version
	// than this program knows. Nil: none is.
	Newer func(context.Context, *sql.DB) (bool, error)

	Pragmas []string // of every connection that writes: "busy_timeout(5000)"
	TxLock  string   // how transactions begin: "immediate"; empty: deferred

	Home Home
}

// Home is where the stores of one installation meet. With the zero Home a
// store stands for itself: nothing refers to it, and what is put aside lies in
// a directory "aside" of its own.
type Home struct {
	Installation string // the directory of the id and the references
	Aside        string // the directory of what is put aside
}

// DB is a store that is open for writing.
type DB struct {
	*sql.DB
	Made bool // by this very call: there is nothing in it, and nothing may be swept
}

// Open opens a store for writing, and makes it if nothing of it is there. The
// caller holds the store's lock, and closes the DB.
func Open(ctx context.Context, s Spec) (*DB, error) {
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
		err = s.create(ctx, id)
	} else {
		err = s.makeFiles() // of a release that made it later
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

// complete brings an open database up to date and writes what says whose it is.
func (s Spec) complete(ctx context.Context, db *sql.DB, found survey, id string) error {
	if err := s.migrate(ctx, db); err != nil {
		return s.Explain("bring up to date", err)
	}
	if found.present && found.inside.Installation == "" {
		if _, err := db.ExecContext(ctx, identitySQL(s.Name, id)); err != nil {
			return s.Explain("mark", err)
		}
	}
	return s.writeMarks(found, id)
}

// version is the newest that this program knows; 0 without a Schema.
func (s Spec) version() int {
	if s.Schema == "" {
		return 0
	}
	return len(s.Steps) + 1
}

func (s Spec) path() string          { return filepath.Join(s.Dir, s.File) }
func (s Spec) markerPath() string    { return filepath.Join(s.Dir, s.Name+".marker") }
func (s Spec) referencePath() string { return filepath.Join(s.Home.Installation, s.Name) }

// aside is where what is put aside of this store goes.
func (s Spec) aside() string {
	if s.Home.Aside == "" {
		return filepath.Join(s.Dir, "aside")
	}
	return s.Home.Aside
}
