package outbox

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// The errors that a caller branches on.
var (
	ErrLocked    = errors.New("another longshore host uses this outbox; stop it first, or ask it through its own commands")
	ErrDamaged   = errors.New("the outbox's database is damaged; stop the host, move the outbox directory aside and start again: requests that were still waiting in it must be sent anew, `sqlite3 outbox.db .recover` may show them")
	ErrNewer     = errors.New("the outbox was written by a newer longshore; start that version, or an empty outbox directory")
	ErrChanged   = errors.New("the file changed while it was copied") // passes: open it again and copy anew
	ErrNotFound  = errors.New("no such delivery in the outbox")
	ErrAmbiguous = errors.New("more than one delivery begins with that; give more of the key")
	ErrOpen      = errors.New("the delivery is still on its way")                                       // Retry
	ErrSettled   = errors.New("the delivery is already settled")                                        // Drop
	ErrSending   = errors.New("the delivery is being sent right now")                                   // Drop; passes
	ErrNoBytes   = errors.New("the delivery's bytes are no longer kept; its request must be made anew") // Retry
)

// FullError is Room's answer when a group, or the disk, holds as much as it
// may. It passes: the request stays where it is and is asked about again.
type FullError struct {
	Code    string // over_quota, disk_full
	Message string
	Hint    string
}

func (e *FullError) Error() string { return e.Message }

// Refusal returns the three parts that the protocol's reply holds.
func (e *FullError) Refusal() (code, message, hint string) { return e.Code, e.Message, e.Hint }

// ofDatabase turns SQLite's word for a database that cannot be read into the
// error that names the remedy.
func ofDatabase(op string, err error) error {
	if err == nil {
		return nil
	}
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return fmt.Errorf("%s: %w (%v)", op, ErrDamaged, err)
		}
	}
	return fmt.Errorf("%s: %w", op, err)
}

// errDoubtful marks a commit that failed in a way that leaves open whether
// the disk has it: what it names must not be removed before the next start.
var errDoubtful = errors.New("the disk may or may not have it")

func ofCommit(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_IOERR {
		return fmt.Errorf("commit: %w (%w)", err, errDoubtful)
	}
	return ofDatabase("commit", err)
}
