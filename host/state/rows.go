package state

import (
	"context"
	"database/sql"
)

// List reads the rows of a query outside a change.
func List[T any](ctx context.Context, d *DB, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := d.QueryContext(ctx, query, args...)
	return All(rows, err, scan)
}

// All reads the rows of a query that has returned rows and err, and closes them.
func All[T any](rows *sql.Rows, err error, scan func(*sql.Rows) (T, error)) (found []T, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		found = append(found, v)
	}
	return found, rows.Err()
}

// One scans a row of one column.
func One[T any](rows *sql.Rows) (v T, err error) {
	err = rows.Scan(&v)
	return v, err
}
