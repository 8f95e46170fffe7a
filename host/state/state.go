// Package state keeps what is the host's own: one database, the bytes of its files, and the
// lock that one host holds.
//
//	longshore.db     the tables of schema.sql (WAL, synchronous FULL, commits in groups);
//	                 or they are in PostgreSQL
//	blobs/           bytes above 16 KiB, each written once, see package blob
//	copies/          copies of them, if hosts share a place for them
//	longshore.lock   held by the process that writes
//
// All tables stand in schema.sql. Each belongs to one package, which docs/architecture.md names;
// the others do not read it. What must be durable together is one change, see [DB.Do].
package state

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/store"
)

// CopiesDir has copies of blobs that lie in a place. No backup needs them.
const CopiesDir = "copies"

const (
	dbName   = "longshore.db"
	blobsDir = "blobs"
	lockName = "longshore.lock"

	maxConns = 9 // the committer's and eight that read
)

// oldDatabases are the databases of the unreleased programs before this state. lastOfOld is the
// last commit that reads them.
var oldDatabases = []string{"outbox/outbox.db"}

const lastOfOld = "4156e766"

//go:embed schema.sql
var schema string

// Spec describes the state in dir, with its database there. The caller sets Server if that is
// elsewhere.
func Spec(dir string, home store.Home) store.Spec {
	return store.Spec{
		Name: "state", Dir: dir, File: dbName, Lock: lockName, Files: blobsDir, Home: home, Schema: schema + blob.Schema,
		Old: oldDatabases, LastOfOld: lastOfOld,
		Pragmas: []string{
			"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)",
			"journal_size_limit(8388608)", // the log, after one large change
			"wal_autocheckpoint(2000)",    // as much, in pages: see fold
			"secure_delete(1)",            // what is deleted is not to be found in the file
		},
	}
}

// Tx is the transaction that changes share, see [DB.Do].
type Tx = store.Tx

// DB is a state that is open for writing. The embedded database is for reading. All methods
// but Close may be called from several goroutines.
type DB struct {
	*store.DB
	Blobs *blob.Store

	// Missing are the names of blobs that records name and whose bytes were lost before the
	// state was opened. The packages that own the records see to it when they open.
	Missing []string

	Spec   store.Spec // of the state
	path   string     // of the database
	mark   string     // of the place of the files; empty: unknown yet
	lock   *os.File
	commit *store.Committer
	opened fs.FileInfo // the database; nil: it is in PostgreSQL
}

// Open is OpenAt of a state whose files lie in its directory.
func Open(ctx context.Context, s store.Spec, log *slog.Logger) (*DB, error) {
	return OpenAt(ctx, s, nil, log)
}

// OpenAt takes the lock and opens a state that Spec describes, which it creates at a first start. It
// moves blobs without a record aside. The error is a *store.Error if the state cannot be used. files
// is where its blobs lie; nil: in its directory. A place that cannot be reached is no error: see Run.
// The caller closes the DB.
func OpenAt(ctx context.Context, s store.Spec, files blob.Place, log *slog.Logger) (_ *DB, err error) {
	d := &DB{Spec: s, path: filepath.Join(s.Dir, s.File)}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	if d.lock, err = store.Lock(s); err != nil {
		return nil, err
	}
	if d.DB, err = store.Open(ctx, s); err != nil {
		return nil, err
	}
	// Otherwise each request of a page would open SQLite anew, and a flood any number of it.
	d.SetMaxOpenConns(maxConns)
	d.SetMaxIdleConns(maxConns)
	d.SetConnMaxIdleTime(time.Minute)
	if files != nil {
		d.Blobs, err = blob.OpenShared(filepath.Join(s.Dir, CopiesDir), files)
	} else {
		d.Blobs, err = blob.Open(filepath.Join(s.Dir, s.Files))
	}
	if err != nil {
		return nil, fmt.Errorf("open the state: %w", err)
	}
	if err := d.Blobs.UseRows(ctx, d.DB); err != nil {
		return nil, s.Explain("open", err)
	}
	if !s.OnServer() {
		if d.opened, err = os.Stat(d.path); err != nil {
			return nil, fmt.Errorf("open the state: %w", err)
		}
	}
	if d.commit, err = d.Committer(ctx, d.Blobs); err != nil {
		return nil, s.Explain("open", err)
	}
	if d.Blobs.Shared() {
		short, cancel := context.WithTimeout(ctx, openTime)
		defer cancel()
		if err := d.reach(short); err != nil { // a host whose place is there starts with it
			log.Error("the host starts without its files, and looks for them again", "error", wordsOf(err))
		}
		return d, nil
	}
	if d.Made {
		return d, nil
	}
	return d, d.sweep(ctx, s, log)
}

// Close closes the state and gives the lock back. No Do may be under way.
func (d *DB) Close() error {
	var errs []error
	if d.commit != nil {
		errs = append(errs, d.commit.Close())
	}
	if d.Blobs != nil {
		errs = append(errs, d.Blobs.Close())
	}
	if d.DB != nil {
		errs = append(errs, d.DB.Close())
	}
	if d.lock != nil {
		errs = append(errs, d.lock.Close())
	}
	return errors.Join(errs...)
}

// Do makes what change writes durable, together with the changes of others that wait: see
// [store.Committer.Do]. A change that the database refuses fails alone. After the database's file
// was moved or replaced, Do refuses: see Replaced.
func (d *DB) Do(ctx context.Context, change func(t *Tx) error, after func()) error {
	if err := d.Replaced(); err != nil {
		return err
	}
	return d.commit.Do(ctx, change, after)
}

// DoBeside is Do for a change that does not depend on its neighbours, see [store.Committer.DoBeside].
func (d *DB) DoBeside(ctx context.Context, change func(t *Tx) error, after func()) error {
	if err := d.Replaced(); err != nil {
		return err
	}
	return d.commit.DoBeside(ctx, change, after)
}

// Exec is Do for one constant statement. It returns how many rows that has changed.
func (d *DB) Exec(ctx context.Context, query string, args ...any) (rows int64, err error) {
	err = d.DoBeside(ctx, func(t *Tx) (err error) {
		rows, err = t.Changed(query, args...)
		return err
	}, nil)
	return rows, err
}

var errReplaced = errors.New("it is not the one that was opened")

// Replaced returns an error if the database's file was moved or replaced since Open: what is
// written now would be lost.
func (d *DB) Replaced() error {
	if d.opened == nil {
		return nil
	}
	now, err := os.Stat(d.path)
	if err == nil && os.SameFile(now, d.opened) {
		return nil
	}
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err // agents see this, and no path of the host
	}
	return fmt.Errorf("the state's database was moved or replaced while the host runs (%w): put it back, or restart the host", errors.Join(errReplaced, err))
}

// The names of blobs that records name, and those whose records are deleted and whose bytes
// must follow. Names in one value have spaces between.
const (
	namedBlobs = `SELECT blob FROM part WHERE blob <> '' UNION ALL SELECT blob FROM link WHERE ended = 0
		UNION ALL SELECT blob FROM page_message WHERE blob <> '' AND removed = 0`
	// namedFiles is namedBlobs with what the records say of them: JSON, in part a list of as many.
	namedFiles = `SELECT file, blob FROM part WHERE blob <> '' UNION ALL SELECT file, blob FROM link WHERE ended = 0
		UNION ALL SELECT file, blob FROM page_message WHERE blob <> '' AND removed = 0`
	deletedBlobs = `SELECT blob FROM link WHERE ended = 1
		UNION ALL SELECT blob FROM page_message WHERE blob <> '' AND removed = 1 UNION ALL SELECT file FROM page_gone WHERE file <> ''`
)

// sweep moves blobs without a record aside, and notes those that are missing.
func (d *DB) sweep(ctx context.Context, s store.Spec, log *slog.Logger) error {
	known, err := d.names(ctx, namedBlobs)
	if err != nil {
		return s.Explain("sweep the files of", err)
	}
	deleted, err := d.names(ctx, deletedBlobs)
	if err != nil {
		return s.Explain("sweep the files of", err)
	}
	d.Missing, err = d.Blobs.Sweep(ctx, s, known, deleted, log)
	if err != nil {
		return fmt.Errorf("sweep the state's files: %w", err)
	}
	if len(d.Missing) > 0 {
		log.Error("files of the state are missing", "count", len(d.Missing))
	}
	return nil
}

func (d *DB) names(ctx context.Context, query string) (map[string]bool, error) {
	rows, err := d.QueryContext(ctx, query)
	names := map[string]bool{}
	return names, eachName(rows, err, func(name string) error {
		names[name] = true
		return nil
	})
}

// FileSums are the blobs outside the database that records name, and the SHA-256 that these have, in hex;
// empty if the record has none.
func (d *DB) FileSums(ctx context.Context) (sums map[string]string, err error) {
	rows, err := d.QueryContext(ctx, namedFiles)
	sums = map[string]string{}
	return sums, Each(rows, err, func() error {
		var files, names string
		if err := rows.Scan(&files, &names); err != nil {
			return err
		}
		if !strings.HasPrefix(files, "[") {
			files = "[" + files + "]"
		}
		var all []struct {
			SHA256 string `json:"sha256"`
		}
		if err := json.Unmarshal([]byte(files), &all); err != nil {
			return fmt.Errorf("read the record of a file: %w", err)
		}
		for i, name := range strings.Fields(names) {
			if blob.IsName(name) && i < len(all) {
				sums[name] = all[i].SHA256
			} else if blob.IsName(name) {
				sums[name] = ""
			}
		}
		return nil
	})
}

// eachName calls do with each name in rows, and closes them.
func eachName(rows *sql.Rows, err error, do func(name string) error) error {
	return Each(rows, err, func() error {
		var some string
		if err := rows.Scan(&some); err != nil {
			return err
		}
		for _, name := range strings.Fields(some) {
			if err := do(name); err != nil {
				return err
			}
		}
		return nil
	})
}

// Snapshot takes a snapshot of the state, for the caller to close. It calls link with the path of
// each blob that the snapshot names, some twice: until Snapshot returns, none of them is deleted.
// It does not if the blobs lie in a place, where each stays for an hour.
func (d *DB) Snapshot(ctx context.Context, link func(path string) error) (one *store.Snapshot, err error) {
	release := d.Blobs.Hold()
	defer func() {
		if failed := release(); err == nil && failed != nil {
			one, err = nil, errors.Join(failed, one.Close())
		}
	}()
	if one, err = d.Spec.Snapshot(ctx); err != nil {
		return nil, err
	}
	if d.Blobs.Shared() {
		return one, nil
	}
	rows, err := one.Query(ctx, namedBlobs)
	err = eachName(rows, err, func(name string) error {
		if !blob.IsName(name) { // it lies in the database
			return nil
		}
		return link(filepath.Join(d.Spec.Dir, d.Spec.Files, name))
	})
	if err != nil {
		return nil, errors.Join(d.Spec.Explain("read", err), one.Close())
	}
	return one, nil
}
