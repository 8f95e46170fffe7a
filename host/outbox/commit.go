package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// committer makes many small changes durable with few commits, and needs no
// goroutine for it: of the callers that wait, one commits for all of them.
type committer struct {
	conn  *sql.Conn
	keep  func() error  // makes the names of new blobs durable
	token chan struct{} // of capacity one: in it while somebody commits

	mu    sync.Mutex
	queue []*change
	stmts map[string]*sql.Stmt // used by whoever commits
}

// change is what one caller wants done. run may be called again when a
// neighbour in the same commit fails, so it must not keep anything but what it
// sets anew. after runs once, after the commit, in the order of the commits.
type change struct {
	run   func(t *tx) error
	after func()
	done  chan error
}

// tx is the transaction that a batch of changes shares.
type tx struct {
	c         *committer
	keepBlobs bool // new blobs must be found after a power loss
}

func newCommitter(conn *sql.Conn, keep func() error) *committer {
	return &committer{conn: conn, keep: keep, token: make(chan struct{}, 1), stmts: map[string]*sql.Stmt{}}
}

// do returns once run's changes are durable and after has run, or with the
// error that undid them. ctx ends the wait for a commit to begin.
func (c *committer) do(ctx context.Context, run func(t *tx) error, after func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ch := &change{run: run, after: after, done: make(chan error, 1)}
	c.mu.Lock()
	c.queue = append(c.queue, ch)
	c.mu.Unlock()
	select {
	case err := <-ch.done:
		return err
	case c.token <- struct{}{}:
		c.commit(c.take())
		<-c.token
	case <-ctx.Done():
		if c.withdraw(ch) {
			return ctx.Err()
		}
	}
	return <-ch.done
}

func (c *committer) take() []*change {
	c.mu.Lock()
	defer c.mu.Unlock()
	batch := c.queue
	c.queue = nil
	return batch
}

// withdraw takes a change back, unless a commit has begun with it.
func (c *committer) withdraw(ch *change) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.queue)
	c.queue = slices.DeleteFunc(c.queue, func(q *change) bool { return q == ch })
	return len(c.queue) < before
}

// commit tries the batch until it is through or nothing of it is left: a
// change that fails for its own reasons is taken out, an error of the
// database is everybody's.
func (c *committer) commit(batch []*change) {
	for len(batch) > 0 {
		failed, err := c.try(batch)
		if err == nil {
			for _, ch := range batch {
				if ch.after != nil {
					ch.after()
				}
				ch.done <- nil
			}
			return
		}
		c.exec("ROLLBACK") // fails when SQLite has rolled back by itself
		var e *sqlite.Error
		if failed < 0 || errors.As(err, &e) {
			for _, ch := range batch {
				ch.done <- err
			}
			return
		}
		batch[failed].done <- err
		batch = append(batch[:failed:failed], batch[failed+1:]...)
	}
}

// try makes one transaction of the batch. failed is the index of the change
// that did not work, or -1 when the transaction itself did not.
func (c *committer) try(batch []*change) (failed int, err error) {
	if err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return -1, ofDatabase("begin", err)
	}
	t := &tx{c: c}
	for i, ch := range batch {
		if err := ch.run(t); err != nil {
			return i, err
		}
	}
	if t.keepBlobs {
		if err := c.keep(); err != nil {
			return -1, err
		}
	}
	if err := c.exec("COMMIT"); err != nil {
		return -1, ofCommit(err)
	}
	return -1, nil
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

func (c *committer) exec(query string) error {
	_, err := (&tx{c: c}).exec(query)
	return err
}

// prepare prepares a constant statement once.
func (c *committer) prepare(query string) (*sql.Stmt, error) {
	if stmt := c.stmts[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := c.conn.PrepareContext(context.Background(), query)
	if err == nil {
		c.stmts[query] = stmt
	}
	return stmt, err
}

func (c *committer) close() error {
	var errs []error
	for _, stmt := range c.stmts {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, c.conn.Close())...)
}

// exec runs a constant statement, which stays prepared.
func (t *tx) exec(query string, args ...any) (sql.Result, error) {
	stmt, err := t.c.prepare(query)
	if err != nil {
		return nil, err
	}
	return stmt.Exec(args...)
}

// query runs a constant query inside the transaction.
func (t *tx) query(query string, args ...any) (*sql.Rows, error) {
	stmt, err := t.c.prepare(query)
	if err != nil {
		return nil, err
	}
	return stmt.Query(args...)
}

// exists says whether a constant query finds a row.
func (t *tx) exists(query string, args ...any) (found bool, err error) {
	rows, err := t.query(query, args...)
	err = each(rows, err, func() error { found = true; return nil })
	return found, ofDatabase("look for a record", err)
}

// changed runs a constant statement and returns how many rows it changed.
func (t *tx) changed(query string, args ...any) (int64, error) {
	res, err := t.exec(query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}
