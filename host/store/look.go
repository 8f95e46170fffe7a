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
)

// View is a store that is open for reading. It neither makes nor changes a
// file of the store.
type View struct {
	*sql.DB
	lock *os.File // nil: a process that writes has it, or the view is a copy
	temp string   // the directory of a copy; empty: it is none
}

// Examine says whether a store is there, and what keeps Open from opening it:
// an *Error, mostly. It changes nothing. With deep it reads the whole
// database. A store that a process uses is that process's matter: its
// database is not read, and the answer is an *Error of kind ErrLocked.
func Examine(ctx context.Context, s Spec, deep bool) (there bool, err error) {
	found, err := s.survey()
	if err != nil || !found.present {
		return found.present, err
	}
	v, err := s.look(false)
	if err != nil {
		return true, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	if _, err := s.inspect(ctx, v.DB, found); err != nil || !deep {
		return true, err
	}
	var words string
	if err := v.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&words); err != nil {
		return true, s.Explain("read", err)
	}
	if words != "ok" {
		return true, s.damaged(errors.New(words))
	}
	return true, nil
}

// Check says what keeps Open from opening a store, for a process that is going
// to open several: it shall begin with none of them if one is refused. Unlike
// Examine it may leave an empty log beside a database, and it has SQLite put
// back what a crash left half written.
func Check(ctx context.Context, s Spec) error {
	found, err := s.survey()
	if err == nil && found.present {
		_, err = s.inspectPlain(ctx, found)
	}
	return err
}

// Look opens a store that is there for reading, whether a process uses it or
// not. It is refused as Open would refuse it. Nil without an error: nothing of
// the store is there.
func Look(ctx context.Context, s Spec) (*View, error) {
	found, err := s.survey()
	if err != nil || !found.present {
		return nil, err
	}
	v, err := s.look(true)
	if err != nil {
		return nil, err
	}
	if _, err := s.inspect(ctx, v.DB, found); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// look opens the database beside a process that writes, if that may be; as it
// is, if its log is empty; and else as a copy, since SQLite can fold a log in
// by writing only.
func (s Spec) look(beside bool) (v *View, err error) {
	v = &View{}
	v.lock, err = s.lockToLook()
	switch {
	case errors.Is(err, ErrLocked) && beside:
		v.DB, err = s.connect("ro")
	case err == nil && !logged(s.path()):
		v.DB, err = connect(s.path(), url.Values{"mode": {"ro"}, "immutable": {"1"}})
	case err == nil:
		err = v.copy(s)
	}
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// logged says whether a database has a log that is not folded in.
func logged(path string) bool {
	for _, suffix := range logs {
		if fi, err := os.Stat(path + suffix); err == nil && fi.Size() > 0 {
			return true
		}
	}
	return false
}

// logs are what SQLite keeps beside a database that is not folded in.
var logs = []string{"-wal", "-journal"}

// copy opens a copy, and lets go of the store.
func (v *View) copy(s Spec) (err error) {
	if v.temp, err = os.MkdirTemp("", "longshore-look-"); err != nil {
		return fmt.Errorf("look at the %s: %w", s.Name, Words(err))
	}
	to := filepath.Join(v.temp, s.File)
	for _, suffix := range append([]string{""}, logs...) {
		if err := copyFile(to+suffix, s.path()+suffix); err != nil && !(suffix != "" && errors.Is(err, os.ErrNotExist)) {
			return fmt.Errorf("look at a copy of the %s: %w", s.Name, Words(err))
		}
	}
	if v.lock != nil {
		err = v.lock.Close()
		v.lock = nil
	}
	if err == nil {
		v.DB, err = connect(to, url.Values{"mode": {"rw"}})
	}
	return err
}

// Close ends the reading.
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

func copyFile(to, from string) error {
	src, err := os.Open(from)
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
