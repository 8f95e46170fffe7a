package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
)

// Row is the table with the one row of a state, in which each transaction of a Writer leaves its
// number: so it can be asked later whether it was committed.
const Row = `CREATE TABLE longshore_store (name TEXT NOT NULL, installation TEXT NOT NULL, version BIGINT NOT NULL,
	checked BIGINT NOT NULL DEFAULT 0, last BIGINT NOT NULL DEFAULT 0)`

// Writer makes one transaction after another on one connection, which it makes anew if it is
// lost. The database was opened by [Config.Open] and has Row. One goroutine at a time may use it.
type Writer struct {
	db   *sql.DB
	conn *sql.Conn // nil: none is open
	of   session   // of conn

	pause func(struct{}) bool // of the change that runs now, beside others; nil: it runs alone
}

// session is one that the server has, or had: after its restart another one may have the process id.
type session struct {
	pid   int64
	since time.Time
}

// maxIdle is more than the connections that may have been lost while nobody used them.
const maxIdle = 16

// NewWriter returns a writer, which the caller closes before the database.
func NewWriter(db *sql.DB) *Writer { return &Writer{db: db} }

// Begin begins a transaction. The server hears of it with the first statement that has an answer.
func (w *Writer) Begin() (err error) {
	for n := 0; w.conn == nil; n++ {
		if w.conn, err = w.db.Conn(context.Background()); err != nil {
			w.conn = nil
			return known(err)
		}
		if err = w.raw(w.meet); err != nil { // it was idle, and is of a server before
			if _ = w.Close(); n > maxIdle {
				return known(err)
			}
		}
	}
	return w.raw(func(c *conn) error { c.change = &batch{}; return nil })
}

// meet asks a new connection for its session.
func (w *Writer) meet(c *conn) error {
	ctx, cancel := c.limited(context.Background())
	defer cancel()
	return c.known(c.raw.QueryRow(ctx, `SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()`).Scan(&w.of.pid, &w.of.since))
}

// raw calls use with the connection.
func (w *Writer) raw(use func(*conn) error) error {
	if w.conn == nil {
		return ErrAway
	}
	return w.conn.Raw(func(c any) error { return use(c.(*conn)) })
}

// add gives the transaction a statement.
func (w *Writer) add(query string, args []any, asks bool) (one *sending, err error) {
	err = w.raw(func(c *conn) error {
		s := statement{c.numbers.of(query), make([]any, len(args))}
		for i, a := range args {
			if s.args[i], err = plain(a); err != nil {
				return fmt.Errorf("value %d: %w", i+1, err)
			}
		}
		one = c.change.add(s, asks)
		return c.change.failed
	})
	return one, err
}

// Exec runs a statement. Its error is that of a later statement or of Commit, unless a value
// has no form in PostgreSQL.
func (w *Writer) Exec(query string, args []any) error {
	_, err := w.add(query, args, false)
	return err
}

// ask adds a statement and waits for its answer.
func (w *Writer) ask(query string, args []any, asks bool) (*sending, error) {
	one, err := w.add(query, args, asks)
	if err != nil {
		return nil, err
	}
	if w.pause != nil {
		if !w.pause(struct{}{}) { // another change has failed
			return nil, errStopped
		}
		return one, nil
	}
	return one, w.flush()
}

func (w *Writer) flush() error {
	return w.raw(func(c *conn) error { return c.change.flush(c) })
}

// Query runs a query. Its answer has been read as a whole.
func (w *Writer) Query(query string, args []any) (*sql.Rows, error) {
	one, err := w.ask(query, args, true)
	if err != nil {
		return nil, err
	}
	if err := w.raw(func(c *conn) error { c.change.ready = one; return nil }); err != nil {
		return nil, err
	}
	return w.conn.QueryContext(context.Background(), "")
}

// QueryRow runs a query for one row.
func (w *Writer) QueryRow(query string, args []any) (*sql.Row, error) {
	one, err := w.ask(query, args, true)
	if err != nil {
		return nil, err
	}
	if err := w.raw(func(c *conn) error { c.change.ready = one; return nil }); err != nil {
		return nil, err
	}
	return w.conn.QueryRowContext(context.Background(), ""), nil
}

// Changed runs a statement and returns how many rows it changed.
func (w *Writer) Changed(query string, args []any) (int64, error) {
	one, err := w.ask(query, args, false)
	if err != nil {
		return 0, err
	}
	return one.tag.RowsAffected(), nil
}

// Next begins the statements of a change, for Blame.
func (w *Writer) Next(change int) {
	_ = w.raw(func(c *conn) error { c.change.change = change; return nil })
}

// Blame returns which change the server refuses, and the error. It returns -1 if no change is to
// blame.
func (w *Writer) Blame() (n int, err error) {
	n = -1
	_ = w.raw(func(c *conn) error {
		if c.change != nil && c.change.failed != nil {
			n, err = c.change.blame, c.change.failed
		}
		return nil
	})
	return n, err
}

// Rollback ends the transaction, and gives a connection back that is lost.
func (w *Writer) Rollback() {
	err := w.raw(func(c *conn) (err error) {
		begun := c.change != nil && c.change.begun
		c.change = nil
		switch {
		case c.raw.IsClosed():
			return ErrAway
		case begun:
			return c.end("ROLLBACK")
		}
		return nil
	})
	if err != nil {
		_ = w.Close()
	}
}

// Commit makes the transaction durable. If its answer is lost, Commit asks the server on another
// connection: the error is nil if it is committed, and wraps ErrAway if it is not. ErrDoubtful: the
// server did not answer, or its synchronous standby has not confirmed the commit.
func (w *Writer) Commit() error {
	mark := rand.Int64()
	asked := false
	err := w.raw(func(c *conn) error {
		b := c.change
		if b.failed != nil || !b.begun && len(b.waiting) == 0 {
			return b.failed
		}
		if b.wrote {
			b.own(statement{`UPDATE longshore_store SET last = $1`, []any{mark}})
		}
		asked = true
		last := b.own(statement{query: "COMMIT"})
		if err := b.flush(c); err != nil {
			return err
		}
		if last.tag.String() != "COMMIT" { // the server answers ROLLBACK if the transaction has failed
			return pgx.ErrTxCommitRollback
		}
		return nil
	})
	if err == nil {
		return w.raw(func(c *conn) error { c.change = nil; return nil })
	}
	if asked && errors.Is(err, ErrAway) {
		w.Rollback()
		return w.resolve(mark, err)
	}
	return known(err)
}

const resolveTime = 5 * time.Second

// resolve finds out what became of the transaction with that mark. It first ends the session that
// made it, which may still be at work: the transaction could be committed after the answer.
func (w *Writer) resolve(mark int64, cause error) error {
	ctx, cancel := context.WithTimeout(context.Background(), resolveTime)
	defer cancel()
	var last int64
	err := retry(ctx, func() error {
		var ended sql.NullBool
		if err := w.db.QueryRowContext(ctx, `SELECT bool_and(pg_terminate_backend(pid, 1000)) FROM pg_stat_activity WHERE pid = ? AND backend_start = ?`, w.of.pid, w.of.since).Scan(&ended); err != nil {
			return err
		}
		if ended.Valid && !ended.Bool {
			return ErrAway // it has not ended yet
		}
		tx, err := w.db.BeginTx(ctx, nil) // with the fence: another owner has overwritten the mark
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		if err := tx.QueryRowContext(ctx, `SELECT last FROM longshore_store`).Scan(&last); err != nil || last != mark {
			return err
		}
		// A server that ends a session no longer waits for its synchronous standby. A commit after it is
		// acknowledged once the standby has both: https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION
		if _, err := tx.ExecContext(ctx, `UPDATE longshore_store SET last = last`); err != nil {
			return err
		}
		return tx.Commit()
	})
	switch {
	case err != nil:
		return fmt.Errorf("%w (%w)", ErrDoubtful, cause)
	case last == mark:
		return nil
	}
	return cause
}

// retry repeats a question while the server is away, until ctx is done.
func retry(ctx context.Context, ask func() error) error {
	for {
		err := known(ask())
		if err == nil || !errors.Is(err, ErrAway) && !errors.Is(err, sql.ErrConnDone) || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Close gives the connection back.
func (w *Writer) Close() error {
	if w.conn == nil {
		return nil
	}
	err := w.conn.Close()
	w.conn = nil
	return err
}
