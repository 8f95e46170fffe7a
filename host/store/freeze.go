package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"

	"github.com/longshore-bridge/longshore/host/postgres"
)

// Frozen is several stores as they are at one moment, whether a process writes to
// them or not. Until Thaw nobody can commit to any of them, but for a Library's in PostgreSQL; a writer waits for that,
// for as long as its busy_timeout or its limit. PostgreSQL itself ends a freeze that takes long. The snapshots remain until Close.
type Frozen struct {
	snapshots []*Snapshot
	writers   []*sql.Conn // one of each snapshot's database
}

// Freeze waits for the commits under way and freezes those of the stores that exist.
// The caller calls Thaw soon, and Close. An error of kind ErrLocked is temporary.
func Freeze(ctx context.Context, stores []Spec) (_ *Frozen, err error) {
	f := &Frozen{}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	for _, s := range stores {
		there, err := s.surveyed(ctx)
		if err != nil {
			return nil, err
		}
		if !there {
			continue
		}
		one, err := s.opened()
		if err != nil {
			return nil, err
		}
		f.snapshots = append(f.snapshots, one)
	}
	for _, one := range f.snapshots {
		if err := f.freeze(ctx, one); err != nil {
			return nil, one.Explain("freeze", err)
		}
	}
	moment := "" // of all stores in PostgreSQL
	for _, one := range f.snapshots {
		if moment, err = one.begin(ctx, moment); err != nil {
			return nil, one.Explain("freeze", err)
		}
	}
	return f, nil
}

func (f *Frozen) freeze(ctx context.Context, one *Snapshot) error {
	writer, err := one.db.Conn(ctx)
	if err != nil {
		return err
	}
	for _, statement := range one.freezing() {
		if _, err = writer.ExecContext(ctx, statement); err != nil {
			return errors.Join(err, end(writer))
		}
	}
	f.writers = append(f.writers, writer)
	return nil
}

// freezing is what keeps others from committing. On PostgreSQL each commit writes the row of that table, and fails
// after the limit. So the server ends a wait for the lock after a fourth of it, and a freeze after a half: whoever
// froze may be stopped, or gone with its machine.
func (s *Snapshot) freezing() []string {
	if !s.OnServer() {
		return []string{"BEGIN IMMEDIATE"}
	}
	limit := min(s.limit(), postgres.DefaultLimit).Milliseconds()
	return []string{"BEGIN", fmt.Sprintf("SET LOCAL lock_timeout = %d", limit/4), fmt.Sprintf("SET LOCAL idle_in_transaction_session_timeout = %d", limit/2),
		"LOCK TABLE longshore_store IN SHARE MODE"}
}

// surveyed is Present with the errors of Open.
func (s Spec) surveyed(ctx context.Context) (bool, error) {
	if !s.OnServer() {
		found, err := s.survey()
		if err != nil || !found.present {
			return false, err
		}
		lock, err := s.lockToLook()
		if errors.Is(err, ErrLocked) { // its host runs, and knows its log
			return true, nil
		}
		if lock != nil {
			defer lock.Close()
		}
		if err == nil {
			err = s.checkLog()
		}
		return true, err
	}
	v, err := s.lookServer(ctx)
	if v == nil {
		return false, err
	}
	return true, v.Close()
}

// Thaw lets others commit again. An error means that they may have committed before.
func (f *Frozen) Thaw() error {
	var errs []error
	for _, writer := range f.writers {
		if _, err := writer.ExecContext(context.Background(), "ROLLBACK"); err != nil {
			errs = append(errs, fmt.Errorf("the stores did not wait until the end, which came too late: try again when there is less to do: %w", err))
		}
		errs = append(errs, writer.Close())
	}
	f.writers = nil
	return errors.Join(errs...)
}

// end ends a connection's transaction and gives the connection back.
func end(conn *sql.Conn) error {
	_, _ = conn.ExecContext(context.Background(), "ROLLBACK") // fails if none has begun
	return conn.Close()
}

// Close ends the snapshots.
func (f *Frozen) Close() error {
	errs := []error{f.Thaw()}
	for _, one := range f.snapshots {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}

// Snapshots returns the stores that exist, for as long as f is open.
func (f *Frozen) Snapshots() []*Snapshot { return f.snapshots }

// Snapshot is a store as it was at one moment. While it is open, the database's log grows.
type Snapshot struct {
	Spec
	Version int // of the schema

	db   *sql.DB
	from *sql.Conn
}

// Snapshot takes a snapshot of a store that exists, for the caller to close. No writer waits
// for it.
func (s Spec) Snapshot(ctx context.Context) (*Snapshot, error) {
	one, err := s.opened()
	if err == nil {
		if _, err = one.begin(ctx, ""); err != nil {
			err = errors.Join(err, one.Close())
		}
	}
	return one, s.Explain("read", err)
}

func (s Spec) opened() (*Snapshot, error) {
	if s.OnServer() {
		s.Server.Fence = nil // a snapshot writes nothing, and its isolation level must come before any query
		db, err := s.dial(postgres.Options{})
		return &Snapshot{Spec: s, db: db}, err
	}
	db, err := connect(s.path(), url.Values{"mode": {"rw"}, "_pragma": {"busy_timeout(5000)"}})
	return &Snapshot{Spec: s, db: db}, err
}

// begin takes the snapshot; in PostgreSQL that of a moment which it returns, if it gets an empty one.
func (s *Snapshot) begin(ctx context.Context, moment string) (_ string, err error) {
	if s.from, err = s.db.Conn(ctx); err != nil {
		return moment, err
	}
	if s.OnServer() {
		return s.beginServer(ctx, moment)
	}
	if _, err = s.from.ExecContext(ctx, "BEGIN"); err != nil {
		return moment, err
	}
	return moment, s.from.QueryRowContext(ctx, "PRAGMA user_version").Scan(&s.Version) // from here it is a snapshot
}

func (s *Snapshot) beginServer(ctx context.Context, moment string) (_ string, err error) {
	if _, err = s.from.ExecContext(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"); err != nil {
		return moment, err
	}
	if moment == "" {
		err = s.from.QueryRowContext(ctx, "SELECT pg_export_snapshot()").Scan(&moment)
	} else {
		_, err = s.from.ExecContext(ctx, "SET TRANSACTION SNAPSHOT '"+moment+"'")
	}
	if err != nil {
		return moment, err
	}
	return moment, s.from.QueryRowContext(ctx, "SELECT version FROM longshore_store").Scan(&s.Version)
}

// Conn is the snapshot's connection, for reading alone.
func (s *Snapshot) Conn() *sql.Conn { return s.from }

// Query reads from the snapshot.
func (s *Snapshot) Query(ctx context.Context, query string) (*sql.Rows, error) {
	return s.from.QueryContext(ctx, query)
}

// Close ends the snapshot.
func (s *Snapshot) Close() error {
	if s.from == nil {
		return s.db.Close()
	}
	return errors.Join(end(s.from), s.db.Close())
}

// pagesAtOnce is how many pages of a database are copied between two looks at the
// context.
const pagesAtOnce = 1024

// CopyTo writes the snapshot to a new database at path, by SQLite's backup API
// (https://www.sqlite.org/backup.html). The copy needs no log beside it.
func (s *Snapshot) CopyTo(ctx context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = s.from.Raw(func(conn any) error { return copyPages(ctx, conn, path) })
	}
	if err != nil {
		return fmt.Errorf("copy the %s: %w", s.Name, Words(err))
	}
	return nil
}

func copyPages(ctx context.Context, conn any, path string) error {
	from, ok := conn.(interface {
		NewBackup(uri string) (*sqlite.Backup, error)
	})
	if !ok {
		return errors.New("the driver cannot copy a database")
	}
	b, err := from.NewBackup((&url.URL{Scheme: "file", Path: path}).String())
	if err != nil {
		return err
	}
	for more := true; more && err == nil; {
		if err = ctx.Err(); err == nil {
			more, err = b.Step(pagesAtOnce)
		}
	}
	return errors.Join(err, b.Finish())
}

// MakeCopy writes a new SQLite database with the rows of a snapshot in PostgreSQL.
func (s *Snapshot) MakeCopy(ctx context.Context, path string, rows Filler) error {
	var id string
	if err := s.from.QueryRowContext(ctx, `SELECT installation FROM longshore_store`).Scan(&id); err != nil {
		return s.ofServer("copy", err)
	}
	to := s.Spec
	to.Server, to.Files, to.Dir, to.File = Server{}, "", filepath.Dir(path), filepath.Base(path)
	return to.create(ctx, id, rows)
}

// CheckCopy reads a whole database that nobody has open, and changes nothing. The error
// says what is wrong with it.
func CheckCopy(ctx context.Context, path string) error {
	db, err := connect(path, url.Values{"mode": {"ro"}, "immutable": {"1"}})
	if err != nil {
		return err
	}
	defer db.Close()
	var words string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&words); err != nil {
		return Words(err)
	}
	if words != "ok" {
		return fmt.Errorf("the database is damaged: %s", words)
	}
	return nil
}
