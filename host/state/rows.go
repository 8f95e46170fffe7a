package state

import "database/sql"

// Each calls row for each row of a query that has returned rows and err, and closes them.
func Each(rows *sql.Rows, err error, row func() error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// All reads the rows of a query that has returned rows and err, and closes them.
func All[T any](rows *sql.Rows, err error, scan func(*sql.Rows) (T, error)) (found []T, _ error) {
	err = Each(rows, err, func() error {
		v, err := scan(rows)
		found = append(found, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// One scans a row of one column.
func One[T any](rows *sql.Rows) (v T, err error) {
	err = rows.Scan(&v)
	return v, err
}
