package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/longshore-bridge/longshore/host/postgres"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

// The kinds of [Error].
var (
	ErrLocked     = errors.New("another process uses the store")
	ErrMissing    = errors.New("the database is missing")
	ErrDamaged    = errors.New("the database is damaged")
	ErrNewer      = errors.New("the database was written by a newer longshore")
	ErrOld        = errors.New("the store was written before the first release")
	ErrForeign    = errors.New("the database belongs to another store or installation")
	ErrMarker     = errors.New("the marker cannot be used")
	ErrUnreadable = errors.New("the store cannot be read or written")
	ErrFull       = errors.New("the disk is full")
	ErrBusy       = fmt.Errorf("by a lock of SQLite: %w", ErrLocked)
)

// Errors of a database in PostgreSQL, see package postgres.
var (
	ErrAway = postgres.ErrAway // a kind of Error, too; temporary
	ErrText = postgres.ErrText // permanent

	ErrServerFull = fmt.Errorf("of the database server: %w", ErrFull)
)

// Error says why a store cannot be used, and what to do. It is permanent until
// the operator acts, except for ErrLocked and ErrFull.
type Error struct {
	Kind    error  // one of the errors of this package
	Store   string // its name
	Message string // what is wrong
	Remedy  string // what the operator should do
	Cause   error  // the system's error; may be nil
}

func (e *Error) Error() string { return e.Message + "; to do: " + e.Remedy }

// Finding is the name of the finding that a host cannot use the store.
func (e *Error) Finding() string {
	switch e.Kind {
	case ErrBusy:
		return finding.Locked
	case ErrUnreadable:
		return finding.State
	}
	return finding.Damaged
}

// Unwrap makes the kind and the cause known to errors.Is.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}

// setAsideWords returns the remedy that needs no backup.
func (s Spec) setAsideWords() string {
	return fmt.Sprintf("stop the host and move the rest of the store away with `longshore store set-aside %s`: nothing is deleted, and the host starts with an empty store", s.Name)
}

func (s Spec) damaged(cause error) *Error {
	return &Error{
		Kind: ErrDamaged, Store: s.Name, Cause: cause,
		Message: fmt.Sprintf("the %s's database, %s, is damaged and cannot be read (%v)", s.Name, s.place(), plain(cause)),
		Remedy:  "restore it from a backup; or " + s.setAsideWords(),
	}
}

func (s Spec) unreadable(cause error) *Error {
	return &Error{
		Kind: ErrUnreadable, Store: s.Name, Cause: cause,
		Message: fmt.Sprintf("the %s's database, %s, cannot be opened (%v)", s.Name, s.place(), plain(cause)),
		Remedy:  cmp.Or(finding.Remedy(s.refused(cause), s.path()), "check that the host's user can read and write the file, its directory and its disk"),
	}
}

// refused returns the system's error behind one of SQLite, which does not name it; err if there is none.
func (s Spec) refused(err error) error {
	if refused := safefs.Writable(s.Dir, true); refused != nil {
		return refused
	}
	for _, path := range s.parts() {
		if refused := safefs.Writable(path, false); refused != nil && !errors.Is(refused, fs.ErrNotExist) {
			return refused
		}
	}
	return Number(err)
}

// parts are the files of the database that SQLite has open.
func (s Spec) parts() []string {
	if s.OnServer() {
		return nil
	}
	return []string{s.path(), s.path() + "-wal", s.path() + "-shm"}
}

// Busy returns an error of kind ErrBusy if another process has a lock of SQLite that keeps this one from writing;
// nil if none is visible.
func (s Spec) Busy() error {
	for _, path := range s.parts() {
		if pid := LockHolder("/proc", path); pid > 0 && pid != os.Getpid() {
			return s.busy(fmt.Sprintf("process %d", pid), fmt.Sprintf("look at it with ps %d, and stop it with kill %d", pid, pid))
		}
	}
	return nil
}

func (s Spec) busy(who, remedy string) *Error {
	return &Error{
		Kind: ErrBusy, Store: s.Name, Remedy: remedy + "; only the host may change its database",
		Message: fmt.Sprintf("%s, which is no host, has locked the %s's database, %s", who, s.Name, s.place()),
	}
}

// ofMark is the error of a marker or an id. What cannot be read now may be whole, so that nothing is deleted.
func ofMark(store, what, path string, err error, otherwise string) *Error {
	e := &Error{Kind: ErrMarker, Store: store, Message: fmt.Sprintf("%s, %s, cannot be used: %v", what, path, plain(err)), Remedy: otherwise, Cause: err}
	if remedy := finding.Remedy(err, path); remedy != "" {
		e.Kind, e.Remedy = ErrUnreadable, remedy
	}
	return e
}

// Explain turns a system error into an *Error if the store is the cause, and
// wraps any other error with op.
func (s Spec) Explain(op string, err error) error {
	if err == nil {
		return nil
	}
	switch err = Words(err); {
	case errors.Is(err, ErrDamaged):
		return s.damaged(err)
	case errors.Is(err, ErrUnreadable):
		return s.unreadable(err)
	case errors.Is(err, ErrBusy):
		return cmp.Or(s.Busy(), error(s.busy("another process", "find it with fuser "+finding.ShellWord(s.path()))))
	}
	return fmt.Errorf("%s the %s: %w", op, s.Name, err)
}

// Words turns an error of SQLite, or of a full or closed disk, into an error
// that people understand and that has a kind. Any other error is returned
// unchanged.
func Words(err error) error {
	var known *wordsError
	if err == nil || errors.As(err, &known) {
		return err
	}
	if kind, words := kindOf(err); kind != nil {
		return &wordsError{kind, words, err}
	}
	return err
}

// OfServer is what the operator can do about an error of a database in PostgreSQL; empty for any other error.
func OfServer(err error) string {
	if !ofServer(err) {
		return ""
	}
	return postgres.Remedy(err)
}

func ofServer(err error) bool {
	return postgres.Code(err) != "" || errors.Is(err, ErrAway) || errors.Is(err, postgres.ErrDoubtful)
}

// Number returns the system's error that an error of SQLite stands for; err itself otherwise.
func Number(err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	switch {
	case !ok:
	case errors.Is(Words(e), ErrFull):
		return unix.ENOSPC
	case e.Code()&0xff == sqlite3.SQLITE_IOERR:
		return unix.EIO
	}
	return err
}

func kindOf(err error) (kind error, words string) {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		if e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE { // the index of the log lacks room
			return ErrFull, "the disk is full"
		}
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return ErrDamaged, "the database is damaged"
		case sqlite3.SQLITE_FULL:
			return ErrFull, "the disk is full"
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_AUTH:
			return ErrUnreadable, "the database cannot be opened for this"
		case sqlite3.SQLITE_IOERR:
			return ErrUnreadable, "the disk reports an error"
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			return ErrBusy, "another process holds the database"
		}
		return nil, ""
	}
	switch code := postgres.Code(err); {
	case code == "53100":
		return ErrServerFull, "the database server's disk is full"
	case code == "55P03":
		return ErrLocked, "others hold the database"
	case code == "25006":
		return ErrUnreadable, "the database server takes no writes"
	case code == "42501":
		return ErrUnreadable, "the database's user has no permission"
	case strings.HasPrefix(code, "XX"):
		return ErrDamaged, "the database is damaged"
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return ErrFull, "the disk is full"
	case errors.Is(err, unix.EROFS):
		return ErrUnreadable, "the disk is mounted read-only"
	case errors.Is(err, unix.EIO):
		return ErrUnreadable, "the disk reports an error"
	case errors.Is(err, fs.ErrPermission):
		return ErrUnreadable, "this user has no permission"
	}
	return nil, ""
}

// wordsError is an error in plain words, followed by the system's own.
type wordsError struct {
	kind  error
	words string
	cause error
}

func (e *wordsError) Error() string   { return fmt.Sprintf("%s (%v)", e.words, e.cause) }
func (e *wordsError) Unwrap() []error { return []error{e.kind, e.cause} }

// plain returns an error for use inside a sentence that already names the path.
func plain(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
