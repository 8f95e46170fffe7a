package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/longshore-bridge/longshore/host/postgres"
)

// session opens the session of a committer.
func (d *DB) session(ctx context.Context) (session, error) {
	if d.server {
		return postgres.NewWriter(d.DB), nil
	}
	conn, err := d.Conn(ctx)
	return &local{conn: conn, stmts: map[string]*sql.Stmt{}}, err
}

// local is a session with SQLite. Each statement is prepared once.
type local struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

func (l *local) prepare(query string) (*sql.Stmt, error) {
	if stmt := l.stmts[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := l.conn.PrepareContext(context.Background(), query)
	if err == nil {
		l.stmts[query] = stmt
	}
	return stmt, err
}

func (l *local) Begin() error  { return l.Exec("BEGIN IMMEDIATE", nil) }
func (l *local) Next(int)      {}
func (l *local) Commit() error { return l.Exec("COMMIT", nil) }

// Rollback fails if SQLite has rolled back by itself.
func (l *local) Rollback() { _ = l.Exec("ROLLBACK", nil) }

// Blame has nothing to say: each error is returned at once.
func (l *local) Blame() (int, error) { return -1, nil }

func (l *local) Exec(query string, args []any) error {
	stmt, err := l.prepare(query)
	if err == nil {
		_, err = stmt.Exec(args...)
	}
	return err
}

func (l *local) Changed(query string, args []any) (int64, error) {
	stmt, err := l.prepare(query)
	if err != nil {
		return 0, err
	}
	res, err := stmt.Exec(args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (l *local) Query(query string, args []any) (*sql.Rows, error) {
	stmt, err := l.prepare(query)
	if err != nil {
		return nil, err
	}
	return stmt.Query(args...)
}

func (l *local) QueryRow(query string, args []any) (*sql.Row, error) {
	stmt, err := l.prepare(query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryRow(args...), nil
}

func (l *local) Close() error {
	var errs []error
	for _, stmt := range l.stmts {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, l.conn.Close())...)
}
