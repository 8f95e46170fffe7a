package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"

	"modernc.org/sqlite"
)

// committer makes many small changes durable with few commits, and needs no
// goroutine for it: of the callers that wait, one takes the turn and commits
// for all of them.
type committer struct {
	conn  *sql.Conn
	files *os.File      // the directory of the blobs
	turn  chan struct{} // holds one token while somebody commits

	mu    sync.Mutex
	queue []*change
	stmts map[string]*sql.Stmt // used by whoever has the turn
}

// change is one caller's wish. run may be called again when a neighbour in
// the same commit fails, so it must not keep anything but what it sets anew.
// after runs once, after the commit, in the order of the commits.
type change struct {
	run   func(tx *tx) error
	after func()
	done  chan error
}

// tx is the transaction that a batch of changes shares.
type tx struct {
	c         *committer
	syncFiles bool // new blobs must be found after a power loss
}

func newCommitter(conn *sql.Conn, files *os.File) *committer {
	return &committer{conn: conn, files: files, turn: make(chan struct{}, 1), stmts: map[string]*sql.Stmt{}}
}

// do returns once run's changes are durable and after has run, or with the
// error that undid them.
func (c *committer) do(run func(tx *tx) error, after func()) error {
	ch := &change{run: run, after: after, done: make(chan error, 1)}
	c.mu.Lock()
	c.queue = append(c.queue, ch)
	c.mu.Unlock()
	select {
	case err := <-ch.done:
		return err
	case c.turn <- struct{}{}:
	}
	c.mu.Lock()
	batch := c.queue
	c.queue = nil
	c.mu.Unlock()
	c.commit(batch)
	<-c.turn
	return <-ch.done
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
	if t.syncFiles {
		if err := c.files.Sync(); err != nil {
			return -1, fmt.Errorf("sync the directory of the files: %w", err)
		}
	}
	if err := c.exec("COMMIT"); err != nil {
		return -1, ofCommit(err)
	}
	return -1, nil
}

func (c *committer) exec(query string) error {
	stmt, err := c.prepare(query)
	if err != nil {
		return err
	}
	_, err = stmt.Exec()
	return err
}

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
func (t *tx) exists(query string, args ...any) (bool, error) {
	rows, err := t.query(query, args...)
	if err != nil {
		return false, ofDatabase("look for a record", err)
	}
	defer rows.Close()
	return rows.Next(), rows.Err()
}

// changed runs a constant statement and returns how many rows it changed.
func (t *tx) changed(query string, args ...any) (int64, error) {
	res, err := t.exec(query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (c *committer) close() error {
	var errs []error
	for _, stmt := range c.stmts {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, c.conn.Close())...)
}
