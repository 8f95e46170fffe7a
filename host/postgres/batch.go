package postgres

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// batch is the transaction of a Writer. Statements whose answers nobody reads wait, and go with
// the next one that has an answer, or with the commit: what counts are round trips.
type batch struct {
	waiting []*sending
	change  int   // whose statements are added now
	begun   bool  // the server has begun the transaction
	wrote   bool  // something was changed
	failed  error // the first error: from then on all fail
	blame   int   // the change to blame for it; none if below 0

	ready *sending // an answered query, for database/sql to read
}

// whole is the change of the statements that are the transaction's own.
const whole = -1

// sending is a statement on its way to the server.
type sending struct {
	statement
	change int
	asks   bool // it has rows
	rows   *kept
	tag    pgconn.CommandTag
}

// add keeps a statement until the next flush.
func (b *batch) add(s statement, asks bool) *sending {
	one := &sending{statement: s, change: b.change, asks: asks}
	b.waiting = append(b.waiting, one)
	b.wrote = b.wrote || !asks || !reads(s.query)
	return one
}

// own adds a statement of the transaction's own.
func (b *batch) own(s statement) *sending {
	one := &sending{statement: s, change: whole}
	b.waiting = append(b.waiting, one)
	return one
}

// flush sends what waits, and reads the answers.
func (b *batch) flush(c *conn) error {
	if b.failed != nil || len(b.waiting) == 0 {
		return b.failed
	}
	all := b.waiting
	if b.waiting = nil; !b.begun {
		b.begun = true
		b.own(statement{query: "BEGIN"})
		if c.Fence != nil {
			b.own(c.fence())
		}
		all, b.waiting = append(b.waiting, all...), nil
	}
	ctx, cancel := c.limited(context.Background())
	defer cancel()
	queued := &pgx.Batch{}
	for _, one := range all {
		queued.Queue(one.query, one.args...)
	}
	sent := c.raw.SendBatch(ctx, queued)
	last, err := answers(sent, all)
	if err = c.known(errors.Join(err, closed(err, sent))); err != nil {
		b.failed, b.blame = err, whole
		if OwnFault(err) {
			b.blame = last.change
		}
	}
	return err
}

// answers reads one answer after the other, and returns the last of which there was one.
func answers(sent pgx.BatchResults, all []*sending) (last *sending, err error) {
	for _, last = range all {
		if last.asks {
			from, _ := sent.Query() // its error is that of the rows
			last.rows, err = keep(from)
		} else {
			last.tag, err = sent.Exec()
		}
		if err != nil {
			return last, err
		}
	}
	return last, nil
}

// take hands an answered query to database/sql.
func (b *batch) take() (driver.Rows, error) {
	if b.failed != nil {
		return nil, b.failed
	}
	rows := b.ready.rows
	b.ready = nil
	return rows, nil
}
