package store

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/longshore-bridge/longshore/host/postgres"
)

// doubtful is a session whose commits have an unknown end.
type doubtful struct {
	away  bool // after the first transaction
	begun int
}

func (d *doubtful) Begin() error {
	if d.begun++; d.begun > 1 && d.away {
		return postgres.ErrAway
	}
	return nil
}

func (*doubtful) Commit() error {
	return fmt.Errorf("%w (%w)", postgres.ErrDoubtful, postgres.ErrAway)
}
func (*doubtful) Next(int)                                         {}
func (*doubtful) Exec(string, []any) error                         { return nil }
func (*doubtful) Changed(string, []any) (int64, error)             { return 0, nil }
func (*doubtful) Query(string, []any) (*sql.Rows, error)           { return nil, nil }
func (*doubtful) QueryRow(query string, _ []any) (*sql.Row, error) { return nil, nil }
func (*doubtful) Rollback()                                        {}
func (*doubtful) Close() error                                     { return nil }
func (*doubtful) Blame() (int, error)                              { return -1, nil }

// A commit that nobody knows the end of was run again: what it had written was there already, so that no
// caller remembered it; or the server was away, and the caller heard of no doubt and deleted the files.
func TestADoubtfulCommitWasRunAgain(t *testing.T) {
	for _, away := range []bool{false, true} {
		c := newCommitter(&doubtful{away: away}, nil)
		ran := 0
		err := c.Do(t.Context(), func(*Tx) error { ran++; return nil }, func() { t.Error("it was taken for committed") })
		if !errors.Is(err, ErrDoubtful) || ran != 1 {
			t.Errorf("away since: %v: it ran %d times: %v", away, ran, err)
		}
		select {
		case <-c.Doubt():
		default:
			t.Errorf("away since: %v: nobody hears that the process may remember something else than the database has", away)
		}
	}
}
