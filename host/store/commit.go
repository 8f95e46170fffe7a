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
)

// Committer makes many small changes durable with few commits, and needs no
// goroutine for it: of the callers that wait, one commits for all of them. Its
// methods may be called from several goroutines.
type Committer struct {
	conn  *sql.Conn
	files Files
	token chan struct{} // of capacity one: in it while somebody commits, and after Close

	closed chan struct{} // closed by Close

	mu    sync.Mutex
	queue []*change
	stmts map[string]*sql.Stmt // used by whoever commits
}

// change is what one caller wants done.
type change struct {
	run   func(t *Tx) error
	after func()
	done  chan error
}

// Tx is the transaction that a batch of changes shares.
type Tx struct {
	KeepFiles bool // the names of new files must be found after a power loss

	c *Committer
}

// Files returns what Committer was given; nil if the database names no files.
func (t *Tx) Files() Files { return t.c.files }

// Files are those that a database names.
type Files interface {
	Keep() error // makes the names of new files durable
}

// Committer takes a connection for all that is written. files is nil if the database names none.
// The caller closes the Committer before the database.
func (d *DB) Committer(ctx context.Context, files Files) (*Committer, error) {
	conn, err := d.Conn(ctx)
	if err != nil {
		return nil, Words(err)
	}
	return &Committer{conn: conn, files: files, token: make(chan struct{}, 1), closed: make(chan struct{}), stmts: map[string]*sql.Stmt{}}, nil
}

// Do returns once run's changes are durable and after has run, or with the
// error that undid them. run may be called again when a neighbour in the same commit
// fails, so it must not keep anything but what it sets anew. after may be nil; it runs
// once, after the commit, in the order of the commits. ctx ends the wait for a commit
// to begin, and Close does too. If run or after panics, Do panics, and the others' changes go on.
func (c *Committer) Do(ctx context.Context, run func(t *Tx) error, after func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ch := &change{run: run, after: after, done: make(chan error, 1)}
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
	for len(batch) > 0 {
		failed, err := c.try(batch)
		if err == nil {
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
		c.exec("ROLLBACK") // fails when SQLite has rolled back by itself
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

// ownFault reports whether one change is to blame for its error: an error of the caller's
// code, or a value that the database refuses (https://www.sqlite.org/rescode.html). The
// database's other errors would meet every change.
func ownFault(err error) bool {
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
	if err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return -1, fmt.Errorf("begin: %w", Words(err))
	}
	t := &Tx{c: c}
	for i, ch := range batch {
		if err := caught(func() error { return ch.run(t) }); err != nil {
			return i, err
		}
	}
	if t.KeepFiles {
		if err := c.files.Keep(); err != nil {
			return -1, err
		}
	}
	if err := c.exec("COMMIT"); err != nil {
		return -1, ofCommit(err)
	}
	return -1, nil
}

// ErrDoubtful is of a commit that failed in a way that leaves open whether
// the disk has it: what it names must not be removed before the next start.
var ErrDoubtful = errors.New("the disk may or may not have it")

func ofCommit(err error) error {
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code()&0xff == sqlite3.SQLITE_IOERR {
		return fmt.Errorf("commit: %w (%w)", err, ErrDoubtful)
	}
	return fmt.Errorf("commit: %w", Words(err))
}

func (c *Committer) exec(query string) error {
	_, err := (&Tx{c: c}).Exec(query)
	return err
}

// prepare prepares a constant statement once.
func (c *Committer) prepare(query string) (*sql.Stmt, error) {
	if stmt := c.stmts[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := c.conn.PrepareContext(context.Background(), query)
	if err == nil {
		c.stmts[query] = stmt
	}
	return stmt, err
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
	var errs []error
	for _, stmt := range c.stmts {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, c.conn.Close())...)
}

// Exec runs a constant statement, which stays prepared.
func (t *Tx) Exec(query string, args ...any) (sql.Result, error) {
	stmt, err := t.c.prepare(query)
	if err != nil {
		return nil, err
	}
	return stmt.Exec(args...)
}

// Query runs a constant query inside the transaction.
func (t *Tx) Query(query string, args ...any) (*sql.Rows, error) {
	stmt, err := t.c.prepare(query)
	if err != nil {
		return nil, err
	}
	return stmt.Query(args...)
}

// QueryRow runs a constant query for one row inside the transaction. If the query cannot be
// prepared, its Scan returns the error.
func (t *Tx) QueryRow(query string, args ...any) Row {
	stmt, err := t.c.prepare(query)
	if err != nil {
		return Row{err: err}
	}
	return Row{row: stmt.QueryRow(args...)}
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
func (t *Tx) Changed(query string, args ...any) (int64, error) {
	res, err := t.Exec(query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}
