package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// View is a store that is open for reading. It creates and changes no file of
// the store. The caller closes it.
type View struct {
	*sql.DB
	lock *os.File // nil: another process writes, or the View is a copy
	temp string   // directory of the copy; empty: the View is not a copy
}

// Examine reports whether a store exists, and returns the error that Open would
// return, mostly an *Error. It changes nothing. With deep it reads the whole
// database. If a process uses the store, Examine does not read the database and
// returns an *Error of kind ErrLocked.
func Examine(ctx context.Context, s Spec, deep bool) (there bool, err error) {
	if s.OnServer() {
		return s.examineServer(ctx)
	}
	found, err := s.survey()
	if err != nil || !found.present {
		return found.present, err
	}
	v, err := s.look(ctx, looking{copies: true})
	if err != nil {
		return true, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	if err := s.Busy(); err != nil { // a copy would not show it
		return true, err
	}
	if _, err := s.inspect(ctx, v.DB, found); err != nil || !deep {
		return true, err
	}
	return true, s.whole(ctx, v.DB)
}

// Whole reads the whole database beside the process that writes, and returns an *Error if a page of it is damaged,
// also one that no statement of that process has read.
func (s Spec) Whole(ctx context.Context) error {
	db, err := s.connect("ro") // its own: others may have the page as it was
	if err != nil {
		return err
	}
	return errors.Join(s.whole(ctx, db), db.Close())
}

// whole checks the structure of each page: https://www.sqlite.org/pragma.html#pragma_quick_check
func (s Spec) whole(ctx context.Context, db *sql.DB) error {
	var words string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&words); err != nil {
		return s.Explain("read", err)
	}
	if words != "ok" {
		return s.damaged(errors.New(strings.Join(strings.Fields(words), " ")))
	}
	return nil
}

// Check returns the error that Open would return. A process that is going to
// open several stores calls it first, so that it opens none if one is refused.
// Unlike Examine, it may leave an empty log beside a database, and lets SQLite
// roll back what a crash left half written.
func Check(ctx context.Context, s Spec) error {
	if s.OnServer() {
		_, err := s.examineServer(ctx)
		return err
	}
	found, err := s.survey()
	if err != nil || !found.present {
		return err
	}
	if err := s.writable(); err != nil { // the log that SQLite makes has the database's mode, and would keep it
		return err
	}
	_, err = s.inspectPlain(ctx, found)
	return err
}

// Look opens an existing store for reading, whether a process uses it or not.
// Its errors are those of Open. It returns nil without an error if nothing of
// the store exists. The caller closes the View. After a crash, Look reads a copy
// of the database, which takes its time.
func Look(ctx context.Context, s Spec) (*View, error) {
	return s.open(ctx, looking{beside: true, copies: true})
}

// Glance is Look for a caller that cannot wait: after a crash, until the store was
// opened, it returns nil as if nothing of it existed.
func Glance(ctx context.Context, s Spec) (*View, error) {
	return s.open(ctx, looking{beside: true})
}

func (s Spec) open(ctx context.Context, how looking) (*View, error) {
	if s.OnServer() {
		return s.lookServer(ctx)
	}
	found, err := s.survey()
	if err != nil || !found.present {
		return nil, err
	}
	v, err := s.look(ctx, how)
	if err != nil || v == nil {
		return nil, err
	}
	if _, err := s.inspect(ctx, v.DB, found); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// looking is how a database may be read.
type looking struct {
	beside bool // beside a process that writes
	copies bool // as a copy
}

// look opens the database: beside a process that writes; in place, if its log is empty; else
// as a copy, since SQLite can only merge a log by writing. It returns nil if that is not allowed.
func (s Spec) look(ctx context.Context, how looking) (v *View, err error) {
	v = &View{}
	if v.lock, err = s.lockToLook(); err == nil {
		err = s.checkLog()
	}
	switch {
	case errors.Is(err, ErrLocked) && how.beside:
		v.DB, err = s.connect("ro")
	case err == nil && !logged(s.path()):
		v.DB, err = connect(s.path(), url.Values{"mode": {"ro"}, "immutable": {"1"}})
	case err == nil && !how.copies:
		return nil, v.Close()
	case err == nil:
		err = v.copy(ctx, s)
	}
	if errors.Is(err, errChanged) {
		if err := v.Close(); err != nil {
			return nil, err
		}
		return s.look(ctx, how)
	}
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// logged reports whether a database has a log that is not merged.
func logged(path string) bool {
	return slices.ContainsFunc(logs, func(suffix string) bool {
		fi, err := os.Stat(path + suffix)
		return err == nil && fi.Size() > 0
	})
}

// logs are the suffixes of the files that SQLite keeps beside a database whose
// log is not merged.
var logs = []string{"-wal", "-journal"}

// errChanged says that a process opened the store while it was copied.
var errChanged = errors.New("the store has changed")

// copy releases the store and opens a copy: a host that starts meanwhile does not wait. Then
// the error is errChanged.
func (v *View) copy(ctx context.Context, s Spec) (err error) {
	before := s.state()
	if v.lock != nil {
		err = v.lock.Close()
		v.lock = nil
	}
	if err != nil {
		return err
	}
	if v.temp, err = os.MkdirTemp("", "longshore-look-"); err != nil {
		return fmt.Errorf("read the %s: %w", s.Name, Words(err))
	}
	to := filepath.Join(v.temp, s.File)
	for _, suffix := range append([]string{""}, logs...) {
		if err := copyFile(ctx, to+suffix, s.path()+suffix); err != nil && !(suffix != "" && errors.Is(err, os.ErrNotExist)) {
			return fmt.Errorf("read a copy of the %s: %w", s.Name, Words(err))
		}
	}
	lock, err := s.lockToLook()
	if lock != nil {
		err = lock.Close()
	}
	if errors.Is(err, ErrLocked) || err == nil && s.state() != before {
		return errChanged
	}
	if err == nil {
		v.DB, err = connect(to, url.Values{"mode": {"rw"}})
	}
	return err
}

// state says which files the database has, and when they were written.
func (s Spec) state() (all string) {
	for _, suffix := range append([]string{""}, logs...) {
		if fi, err := os.Stat(s.path() + suffix); err == nil {
			all += fmt.Sprintln(suffix, fi.Size(), fi.ModTime().UnixNano())
		}
	}
	return all
}

// Close closes the database, releases the lock and deletes a copy.
func (v *View) Close() error {
	var errs []error
	if v.DB != nil {
		errs = append(errs, v.DB.Close())
	}
	if v.lock != nil {
		errs = append(errs, v.lock.Close())
	}
	if v.temp != "" {
		errs = append(errs, os.RemoveAll(v.temp))
	}
	return errors.Join(errs...)
}

// copyFile copies a file until ctx is done.
func copyFile(ctx context.Context, to, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	for err == nil {
		if err = ctx.Err(); err == nil {
			_, err = io.CopyN(dst, src, 4<<20)
		}
	}
	if err == io.EOF {
		err = nil
	}
	return errors.Join(err, dst.Close())
}
