package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// conn is one connection. database/sql calls its methods one at a time.
type conn struct {
	*connector
	raw    *pgx.Conn
	inTx   bool   // a transaction that database/sql began is open
	change *batch // of a Writer; nil: none is open
}

// statement is a query and its values, as the server takes them.
type statement struct {
	query string
	args  []any
}

// fence is the statement that refuses the changes of a host that no longer owns.
func (c *conn) fence() statement {
	return statement{`SELECT longshore_fence($1, $2)`, []any{c.Fence.Cluster, c.Fence.Number}}
}

// statement returns a query for the server.
func (c *conn) statement(query string, args []driver.NamedValue) statement {
	s := statement{query, make([]any, len(args))}
	if c.numbers != nil {
		s.query = c.numbers.of(query)
	}
	for i, a := range args {
		s.args[i] = a.Value
	}
	return s
}

// CheckNamedValue makes a value what a column of the host's schema takes. A library's values are
// pgx's to convert.
func (c *conn) CheckNamedValue(v *driver.NamedValue) (err error) {
	if c.numbers != nil {
		v.Value, err = plain(v.Value)
		return err
	}
	return checkText(v.Value)
}

// plain returns a number, a text, bytes or nil.
func plain(v any) (any, error) {
	v, err := driver.DefaultParameterConverter.ConvertValue(v)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case []byte:
		if v == nil {
			return nil, nil
		}
	}
	return v, checkText(v)
}

// checkText refuses what PostgreSQL has no form for: it would end the whole transaction.
func checkText(v any) error {
	if text, ok := v.(string); ok && (strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text)) {
		return ErrText
	}
	return nil
}

// Prepare returns a statement that the connection prepares when it is first run, and remembers.
func (c *conn) Prepare(query string) (driver.Stmt, error) { return &stmt{c, query}, nil }

// Begin is there for database/sql, which calls BeginTx.
func (c *conn) Begin() (driver.Tx, error) { return c.BeginTx(context.Background(), driver.TxOptions{}) }

// BeginTx begins a transaction, with the fence unless it only reads.
func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	begin := statement{query: "BEGIN"}
	if o.ReadOnly {
		begin.query = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	}
	all := []statement{begin}
	if c.Fence != nil && !o.ReadOnly {
		all = append(all, c.fence())
	}
	if _, err := c.run(ctx, all); err != nil {
		_ = c.end("ROLLBACK")
		return nil, err
	}
	c.inTx = true
	return tx{c}, nil
}

type tx struct{ c *conn }

func (t tx) Commit() error   { t.c.inTx = false; return t.c.end("COMMIT") }
func (t tx) Rollback() error { t.c.inTx = false; return t.c.end("ROLLBACK") }

// end ends a transaction. The server answers ROLLBACK to the COMMIT of one that has failed.
func (c *conn) end(how string) error {
	ctx, cancel := c.limited(context.Background())
	defer cancel()
	tag, err := c.raw.Exec(ctx, how, pgx.QueryExecModeSimpleProtocol)
	if err == nil && tag.String() != how {
		err = pgx.ErrTxCommitRollback
	}
	return known(err)
}

// ExecContext runs a statement. Outside a transaction the fence is in the statement's own.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s := c.statement(query, args)
	if c.raw.IsClosed() {
		return nil, driver.ErrBadConn
	}
	if c.Fence == nil || c.inTx {
		ctx, cancel := c.limited(ctx)
		defer cancel()
		tag, err := c.raw.Exec(ctx, s.query, s.args...)
		return driver.RowsAffected(tag.RowsAffected()), c.retried(err)
	}
	tag, err := c.run(ctx, []statement{c.fence(), s})
	return driver.RowsAffected(tag.RowsAffected()), c.retried(err)
}

// QueryContext runs a query. Outside a transaction one that may write comes with the fence.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s := c.statement(query, args)
	switch {
	case c.change != nil:
		return c.change.take()
	case c.raw.IsClosed():
		return nil, driver.ErrBadConn
	case c.Fence != nil && !c.inTx && !reads(s.query):
		return c.ask(ctx, []statement{c.fence(), s})
	}
	ctx, end := context.WithCancel(ctx)
	if c.Limit > 0 { // for the first row; who reads the others may take their time
		defer time.AfterFunc(c.Limit+c.Limit/4, end).Stop()
	}
	from, _ := c.raw.Query(ctx, s.query, s.args...) // its error is that of the rows
	answer := &rows{from: from, end: end}
	if answer.has = from.Next(); !answer.has && from.Err() != nil {
		_ = answer.Close()
		if c.raw.IsClosed() && !c.inTx && reads(s.query) && ctx.Err() == nil {
			return nil, driver.ErrBadConn // another connection may have the answer
		}
		return nil, c.known(from.Err())
	}
	return answer, nil
}

// reads reports whether a statement only reads.
func reads(query string) bool {
	query = strings.TrimLeft(query, " \t\n(")
	return len(query) >= 6 && strings.EqualFold(query[:6], "SELECT")
}

// retried lets database/sql take another connection if the server has got nothing.
func (c *conn) retried(err error) error {
	if err != nil && !c.inTx && pgconn.SafeToRetry(err) {
		return driver.ErrBadConn
	}
	return known(err)
}

// run sends statements at once and returns the answer to the last. Outside a transaction they
// are one.
func (c *conn) run(ctx context.Context, all []statement) (tag pgconn.CommandTag, err error) {
	ctx, cancel := c.limited(ctx)
	defer cancel()
	sent := c.send(ctx, all)
	for range all {
		if tag, err = sent.Exec(); err != nil {
			break
		}
	}
	return tag, c.known(errors.Join(err, closed(err, sent)))
}

// ask is run for a query.
func (c *conn) ask(ctx context.Context, all []statement) (driver.Rows, error) {
	ctx, cancel := c.limited(ctx)
	defer cancel()
	sent := c.send(ctx, all)
	var err error
	for range all[1:] {
		if _, err = sent.Exec(); err != nil {
			break
		}
	}
	var found *kept
	if err == nil {
		from, _ := sent.Query() // its error is that of the rows
		found, err = keep(from)
	}
	if err = c.known(errors.Join(err, closed(err, sent))); err != nil {
		return nil, err
	}
	return found, nil
}

// known gives an error its kind. Without a connection the server is away, whatever pgx says.
func (c *conn) known(err error) error {
	if err = known(err); err != nil && c.raw.IsClosed() && !errors.Is(err, ErrAway) && !errors.Is(err, ErrFenced) {
		return fmt.Errorf("%w (%w)", ErrAway, err)
	}
	return err
}

// closed ends a batch, whose error counts if there was none before.
func closed(before error, sent pgx.BatchResults) error {
	if err := sent.Close(); before == nil {
		return err
	}
	return nil
}

func (c *conn) send(ctx context.Context, all []statement) pgx.BatchResults {
	b := &pgx.Batch{}
	for _, s := range all {
		b.Queue(s.query, s.args...)
	}
	return c.raw.SendBatch(ctx, b)
}

// Ping asks the server for nothing.
func (c *conn) Ping(ctx context.Context) error { return known(c.raw.Ping(ctx)) }

// ResetSession and IsValid refuse a connection that is lost.
func (c *conn) ResetSession(context.Context) error {
	if c.raw.IsClosed() {
		return driver.ErrBadConn
	}
	return nil
}

// IsValid reports whether the connection may be used again.
func (c *conn) IsValid() bool { return !c.raw.IsClosed() && c.change == nil }

// Close closes the connection.
func (c *conn) Close() error {
	ctx, cancel := c.limited(context.Background())
	defer cancel()
	return c.raw.Close(ctx)
}

// stmt is a statement that the connection prepares by itself.
type stmt struct {
	c     *conn
	query string
}

func (s *stmt) Close() error  { return nil }
func (s *stmt) NumInput() int { return -1 }

func (s *stmt) Exec([]driver.Value) (driver.Result, error) {
	return nil, fmt.Errorf("run a statement: database/sql uses ExecContext")
}

func (s *stmt) Query([]driver.Value) (driver.Rows, error) {
	return nil, fmt.Errorf("run a query: database/sql uses QueryContext")
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.c.ExecContext(ctx, s.query, args)
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.c.QueryContext(ctx, s.query, args)
}

func (s *stmt) CheckNamedValue(v *driver.NamedValue) error { return s.c.CheckNamedValue(v) }
