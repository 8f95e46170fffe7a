package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/longshore-bridge/longshore/host/postgres"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// Committer makes many small changes durable with few commits, and needs no
// goroutine for it: of the callers that wait, one commits for all of them. Its
// methods may be called from several goroutines.
type Committer struct {
	session  session // used by whoever commits
	together together
	files    Files
	damage   *damage       // of the database
	token    chan struct{} // of capacity one: in it while somebody commits, and after Close

	closed chan struct{} // closed by Close
	doubt  chan struct{} // closed by the first commit with ErrDoubtful
	made   chan struct{} // of capacity one: there was a commit

	mu    sync.Mutex
	queue []*change
}

// session is the one connection by which a database is changed, in one transaction after another.
type session interface {
	Begin() error
	Next(change int) // what follows is of that change of the transaction, counted from 0
	Exec(query string, args []any) error
	Changed(query string, args []any) (int64, error)
	Query(query string, args []any) (*sql.Rows, error)
	QueryRow(query string, args []any) (*sql.Row, error)
	Commit() error
	Rollback()
	Close() error

	// Blame returns which change made the transaction fail, counted from 0, and its error. It
	// returns -1 if the error was returned at once, or if no change is to blame.
	Blame() (int, error)
}

// change is what one caller wants done.
type change struct {
	run    func(t *Tx) error
	after  func()
	beside bool // its neighbours may run at the same time
	done   chan error
}

// Tx is the transaction that a batch of changes shares.
type Tx struct {
	KeepFiles bool // the names of new files must be found after a power loss

	session  session
	together together
	files    Files
}

// together runs changes beside each other, see [postgres.Writer.Together]. SQLite's is nil: its answers
// cost no way.
type together func(first int, changes []func() error) (failed int, err error)

// Files returns what Committer was given; nil if the database names no files.
func (t *Tx) Files() Files { return t.files }

// Files are those that a database names.
type Files interface {
	Keep() error // makes the names of new files durable
}

// Committer takes a connection for all that is written. files is nil if the database names none.
// The caller closes the Committer before the database.
func (d *DB) Committer(ctx context.Context, files Files) (*Committer, error) {
	s, err := d.session(ctx)
	if err != nil {
		return nil, Words(err)
	}
	c := newCommitter(s, files)
	c.damage = &d.damage
	if w, ok := s.(*postgres.Writer); ok {
		c.together = w.Together
	}
	return c, nil
}

func newCommitter(s session, files Files) *Committer {
	return &Committer{session: s, files: files, damage: &damage{}, token: make(chan struct{}, 1), closed: make(chan struct{}), doubt: make(chan struct{}), made: make(chan struct{}, 1)}
}

// Doubt is closed by the first commit that fails with ErrDoubtful: from then on, what the callers remember
// may differ from what the database has.
func (c *Committer) Doubt() <-chan struct{} { return c.doubt }

// Made has a value after a commit, for one reader.
func (c *Committer) Made() <-chan struct{} { return c.made }

// Do returns once run's changes are durable and after has run, or with the
// error that undid them. run may be called again when a neighbour in the same commit
// fails, so it must not keep anything but what it sets anew. after may be nil; it runs
// once, after the commit, in the order of the commits. ctx ends the wait for a commit
// to begin, and Close does too. If run or after panics, Do panics, and the others' changes go on.
func (c *Committer) Do(ctx context.Context, run func(t *Tx) error, after func()) error {
	return c.do(ctx, &change{run: run, after: after, done: make(chan error, 1)})
}

// DoBeside is Do for a change that neither reads what its neighbours in the same commit write, nor
// minds if their statements come between its own: on PostgreSQL, many of them need the round trips of one.
func (c *Committer) DoBeside(ctx context.Context, run func(t *Tx) error, after func()) error {
	return c.do(ctx, &change{run: run, after: after, beside: true, done: make(chan error, 1)})
}

func (c *Committer) do(ctx context.Context, ch *change) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	c.queue = append(c.queue, ch)
	c.mu.Unlock()
	select {
	case err := <-ch.done:
		return panics(err)
	case c.token <- struct{}{}:
		c.commit(c.take())
		<-c.token
	case <-ctx.Done():
		if c.withdraw(ch) {
			return ctx.Err()
		}
	case <-c.closed:
		if c.withdraw(ch) {
			return errClosed
		}
	}
	return panics(<-ch.done)
}

// panics panics if err is of a change that panicked; else it returns err.
func panics(err error) error {
	if p, ok := errors.AsType[panicked](err); ok {
		panic(p.Error())
	}
	return err
}

// panicked is the error of a change that panics. It panics again in its own caller, who may
// recover: nobody else's changes suffer.
type panicked struct {
	value any
	stack []byte
}

func (p panicked) Error() string { return fmt.Sprintf("%v\n\n%s", p.value, p.stack) }

func caught(run func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicked{v, debug.Stack()}
		}
	}()
	return run()
}

func (c *Committer) take() []*change {
	c.mu.Lock()
	defer c.mu.Unlock()
	batch := c.queue
	c.queue = nil
	return batch
}

// withdraw takes a change back, unless a commit has begun with it.
func (c *Committer) withdraw(ch *change) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.queue)
	c.queue = slices.DeleteFunc(c.queue, func(q *change) bool { return q == ch })
	return len(c.queue) < before
}

// commit tries the batch until it is through or nothing of it is left: a
// change that fails for its own reasons is taken out, an error of the disk or of
// the database as a whole is everybody's.
func (c *Committer) commit(batch []*change) {
	for again := true; len(batch) > 0; {
		failed, err := c.try(batch)
		if err == nil {
			wake.Up(c.made)
			for _, ch := range batch {
				ch.done <- caught(func() error {
					if ch.after != nil {
						ch.after()
					}
					return nil
				})
			}
			return
		}
		c.session.Rollback()
		c.damage.note(err)
		doubtful := errors.Is(err, ErrDoubtful)
		if doubtful {
			c.doubted()
		}
		if again && !doubtful && errors.Is(err, postgres.ErrAway) { // nothing is committed; a server that was started again has lost the connection
			again = false
			continue
		}
		if failed < 0 || !ownFault(err) {
			for _, ch := range batch {
				ch.done <- err
			}
			return
		}
		batch[failed].done <- err
		batch = append(batch[:failed:failed], batch[failed+1:]...)
	}
}

// doubted closes Doubt. It runs in a commit.
func (c *Committer) doubted() {
	select {
	case <-c.doubt:
	default:
		close(c.doubt)
	}
}

// ownFault reports whether one change is to blame for its error: an error of the caller's
// code, or a value that the database refuses (https://www.sqlite.org/rescode.html). The
// database's other errors would meet every change.
func ownFault(err error) bool {
	if ofServer(err) {
		return postgres.OwnFault(err)
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return true
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_RANGE:
		return true
	}
	return false
}

// try makes one transaction of the batch. failed is the index of the change
// that did not work, or -1 when the transaction itself did not.
func (c *Committer) try(batch []*change) (failed int, err error) {
	if err := c.session.Begin(); err != nil {
		return -1, fmt.Errorf("begin: %w", Words(err))
	}
	t := &Tx{session: c.session, together: c.together, files: c.files}
	if failed, err := c.run(t, batch); err != nil {
		return c.blame(failed, err)
	}
	if t.KeepFiles {
		if err := c.files.Keep(); err != nil {
			return -1, err
		}
	}
	if err := c.session.Commit(); err != nil {
		return c.blame(-1, ofCommit(err))
	}
	return -1, nil
}

// run runs the changes of a batch, and returns the one that failed.
func (c *Committer) run(t *Tx, batch []*change) (failed int, err error) {
	for i := 0; i < len(batch); {
		n := i
		for c.together != nil && n < len(batch) && batch[n].beside {
			n++
		}
		if n > i+1 {
			runs := make([]func() error, 0, n-i)
			for _, ch := range batch[i:n] {
				runs = append(runs, func() error { return caught(func() error { return ch.run(t) }) })
			}
			if failed, err := c.together(i, runs); err != nil {
				return failed, err
			}
			i = n
			continue
		}
		ch := batch[i]
		c.session.Next(i)
		if err := caught(func() error { return ch.run(t) }); err != nil {
			return i, err
		}
		i++
	}
	return -1, nil
}

// Each calls run with the numbers from 0 to n-1. The calls neither read what the others write, nor mind if
// statements of the others come between their own: on PostgreSQL they need the round trips of one.
func (t *Tx) Each(n int, run func(i int) error) error {
	if t.together != nil && n > 1 {
		runs := make([]func() error, n)
		for i := range n {
			runs[i] = func() error { return caught(func() error { return run(i) }) }
		}
		_, err := t.together(-1, runs)
		return panics(err)
	}
	for i := range n {
		if err := run(i); err != nil {
			return err
		}
	}
	return nil
}

// blame returns the change that failed earlier, if the error is known only now.
func (c *Committer) blame(failed int, err error) (int, error) {
	if earlier, cause := c.session.Blame(); earlier >= 0 {
		return earlier, cause
	}
	return failed, err
}

// ErrDoubtful is of a commit that failed in a way that leaves open whether
// the disk has it: what it names must not be removed before the next start.
var ErrDoubtful = errors.New("the disk may or may not have it")

func ofCommit(err error) error {
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code()&0xff == sqlite3.SQLITE_IOERR {
		return fmt.Errorf("commit: %w (%w)", err, ErrDoubtful)
	}
	if errors.Is(err, postgres.ErrDoubtful) {
		return fmt.Errorf("commit: %w (%w)", err, ErrDoubtful)
	}
	return fmt.Errorf("commit: %w", Words(err))
}

// errClosed is of a change that came too late.
var errClosed = errors.New("the store is closed")

// Close waits for the commit under way, refuses all further ones, and gives the connection back.
// A second call does nothing.
func (c *Committer) Close() error {
	select {
	case c.token <- struct{}{}:
		close(c.closed)
	case <-c.closed:
		return nil
	}
	return c.session.Close()
}

// Exec runs a constant statement, which stays prepared. On PostgreSQL a later statement or the
// commit may return its error, and then this change fails alone.
func (t *Tx) Exec(query string, args ...any) error { return t.session.Exec(query, args) }

// Query runs a constant query inside the transaction.
func (t *Tx) Query(query string, args ...any) (*sql.Rows, error) { return t.session.Query(query, args) }

// QueryRow runs a constant query for one row inside the transaction. If the query cannot be
// prepared, its Scan returns the error.
func (t *Tx) QueryRow(query string, args ...any) Row {
	row, err := t.session.QueryRow(query, args)
	return Row{row, err}
}

// Row is the answer to a query for one row.
type Row struct {
	row *sql.Row
	err error
}

// Scan is that of [sql.Row].
func (r Row) Scan(to ...any) error {
	if r.err != nil {
		return r.err
	}
	return r.row.Scan(to...)
}

// Changed runs a constant statement and returns how many rows it changed.
func (t *Tx) Changed(query string, args ...any) (int64, error) { return t.session.Changed(query, args) }
