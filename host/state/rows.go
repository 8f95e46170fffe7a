package state

import "database/sql"

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
