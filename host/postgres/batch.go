package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// batch is the transaction of a Writer. Statements whose answers nobody reads wait, and go with
// the next one that has an answer, or with the commit: what counts are round trips.
type batch struct {
	waiting []statement
	given   int   // statements so far, without those of the batch itself
	sent    int   // statements that were sent
	begun   bool  // the server has begun it
	wrote   bool  // something was changed
	changes []int // how many statements were given before each change
	failed  error // the first error: from then on all fail
	blame   int   // the change to blame for it; -1: none
}

// head are the statements with which a transaction begins.
func (b *batch) head(c *conn) (all []statement) {
	if b.begun {
		return nil
	}
	all = []statement{{query: "BEGIN"}}
	if c.Fence != nil {
		all = append(all, c.fence())
	}
	return all
}

// add keeps a statement for later.
func (b *batch) add(s statement) {
	b.waiting = append(b.waiting, s)
	b.given++
	b.wrote = true
}

// query sends what waits and the query, and reads its answer as a whole.
func (b *batch) query(ctx context.Context, c *conn, s statement) (driver.Rows, error) {
	if b.failed != nil {
		return nil, b.failed
	}
	b.wrote = b.wrote || !reads(s.query)
	var found *kept
	b.given++
	err := b.flush(ctx, c, s, func(sent pgx.BatchResults) (err error) {
		from, _ := sent.Query() // its error is that of the rows
		found, err = keep(from)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// exec sends what waits and the statement.
func (b *batch) exec(ctx context.Context, c *conn, s statement) (driver.Result, error) {
	if b.failed != nil {
		return nil, b.failed
	}
	b.wrote = true
	var tag pgconn.CommandTag
	b.given++
	err := b.flush(ctx, c, s, func(sent pgx.BatchResults) (err error) {
		tag, err = sent.Exec()
		return err
	})
	return driver.RowsAffected(tag.RowsAffected()), err
}

// flush sends what waits and last, whose answer read reads.
func (b *batch) flush(ctx context.Context, c *conn, last statement, read func(pgx.BatchResults) error) error {
	ctx, cancel := c.limited(ctx)
	defer cancel()
	head := b.head(c)
	before := append(head, b.waiting...)
	first := b.sent // the first that waits
	b.sent += len(b.waiting) + 1
	b.waiting, b.begun = nil, true
	sent := c.send(ctx, append(before, last))
	var err error
	n := 0
	for ; n < len(before) && err == nil; n++ {
		_, err = sent.Exec()
	}
	if n == len(before) && err == nil {
		err = read(sent)
		n++
	}
	if err = c.known(errors.Join(err, closed(err, sent))); err != nil {
		b.failed, b.blame = err, -1
		if n > len(head) && OwnFault(err) {
			b.blame = b.change(first + n - 1 - len(head))
		}
	}
	return err
}

// change returns the change of a statement; -1 if it is the batch's own.
func (b *batch) change(statement int) int {
	if statement >= b.given {
		return -1
	}
	next, _ := slices.BinarySearch(b.changes, statement+1) // a change without statements begins where the next one does
	return next - 1
}
