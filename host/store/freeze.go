package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"

	"modernc.org/sqlite"
)

// Frozen is several stores as they are at one moment, whether a process writes to
// them or not. Until Thaw nobody can commit to any of them; a writer waits for that,
// for as long as its busy_timeout. The snapshots remain until Close.
type Frozen struct{ stores []*frozen }

type frozen struct {
	Spec
	version        int
	db             *sql.DB
	writer, reader *sql.Conn
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
		found, err := s.survey()
		if err != nil {
			return nil, err
		}
		if !found.present {
			continue
		}
		db, err := connect(s.path(), url.Values{"mode": {"rw"}, "_pragma": {"busy_timeout(5000)"}})
		if err != nil {
			return nil, err
		}
		f.stores = append(f.stores, &frozen{Spec: s, db: db})
	}
	for _, one := range f.stores {
		if err := one.freeze(ctx); err != nil {
			return nil, one.Explain("freeze", err)
		}
	}
	return f, nil
}

func (f *frozen) freeze(ctx context.Context) (err error) {
	if f.writer, err = f.db.Conn(ctx); err != nil {
		return err
	}
	if _, err = f.writer.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if f.reader, err = f.db.Conn(ctx); err != nil {
		return err
	}
	if _, err = f.reader.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	return f.reader.QueryRowContext(ctx, "PRAGMA user_version").Scan(&f.version) // from here the reader has its snapshot
}

// Thaw lets others commit again.
func (f *Frozen) Thaw() error {
	var errs []error
	for _, one := range f.stores {
		errs = append(errs, end(&one.writer))
	}
	return errors.Join(errs...)
}

// end ends a connection's transaction and gives the connection back.
func end(conn **sql.Conn) error {
	if *conn == nil {
		return nil
	}
	_, _ = (*conn).ExecContext(context.Background(), "ROLLBACK") // fails if none has begun
	err := (*conn).Close()
	*conn = nil
	return err
}

// Close ends the snapshots.
func (f *Frozen) Close() error {
	errs := []error{f.Thaw()}
	for _, one := range f.stores {
		errs = append(errs, end(&one.reader), one.db.Close())
	}
	return errors.Join(errs...)
}

// Snapshot is one store of a Frozen.
type Snapshot struct {
	Spec
	Version int // of the schema

	from *sql.Conn
}

// Snapshots returns the stores that exist.
func (f *Frozen) Snapshots() (all []Snapshot) {
	for _, one := range f.stores {
		all = append(all, Snapshot{one.Spec, one.version, one.reader})
	}
	return all
}

// pagesAtOnce is how many pages of a database are copied between two looks at the
// context.
const pagesAtOnce = 1024

// CopyTo writes the snapshot to a new database at path, by SQLite's backup API
// (https://www.sqlite.org/backup.html). The copy needs no log beside it.
func (s Snapshot) CopyTo(ctx context.Context, path string) error {
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
