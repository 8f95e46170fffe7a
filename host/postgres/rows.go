package postgres

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// rows reads an answer from the connection as it comes.
type rows struct {
	from pgx.Rows
	end  context.CancelFunc
	has  bool // the first row was read already
}

func (r *rows) Columns() []string { return columns(r.from.FieldDescriptions()) }

func (r *rows) Close() error {
	r.from.Close()
	r.end()
	return nil // an error of the answer is that of Next
}

func (r *rows) Next(to []driver.Value) error {
	if first := r.has; first {
		r.has = false
	} else if !r.from.Next() {
		if err := known(r.from.Err()); err != nil {
			return err
		}
		return io.EOF
	}
	return values(r.from, to)
}

// kept is an answer that was read as a whole: the connection is free for other statements.
type kept struct {
	names []string
	left  [][]driver.Value
}

func keep(from pgx.Rows) (*kept, error) {
	defer from.Close()
	if err := from.Err(); err != nil { // there are no columns
		return nil, err
	}
	k := &kept{names: columns(from.FieldDescriptions())}
	for from.Next() {
		row := make([]driver.Value, len(k.names))
		if err := values(from, row); err != nil {
			return nil, err
		}
		k.left = append(k.left, row)
	}
	return k, from.Err()
}

func (k *kept) Columns() []string { return k.names }
func (k *kept) Close() error      { return nil }

func (k *kept) Next(to []driver.Value) error {
	if len(k.left) == 0 {
		return io.EOF
	}
	copy(to, k.left[0])
	k.left = k.left[1:]
	return nil
}

func columns(fields []pgconn.FieldDescription) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names
}

func values(from pgx.Rows, to []driver.Value) error {
	all, err := from.Values()
	if err != nil {
		return fmt.Errorf("read a row: %w", err)
	}
	for i, v := range all {
		if to[i], err = value(v); err != nil {
			return fmt.Errorf("read column %s: %w", from.FieldDescriptions()[i].Name, err)
		}
	}
	return nil
}

// value is a column's value as SQLite gives it: sums are whole numbers.
func value(v any) (driver.Value, error) {
	switch v := v.(type) {
	case int32:
		return int64(v), nil
	case int16:
		return int64(v), nil
	case pgtype.Numeric:
		if n, err := v.Int64Value(); err == nil {
			return n.Int64, nil
		}
		f, err := v.Float64Value()
		return f.Float64, err
	case [16]byte: // a UUID
		h := hex.EncodeToString(v[:])
		return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:], nil
	}
	if !driver.IsValue(v) {
		return nil, fmt.Errorf("a %T has no form in Go's database/sql", v)
	}
	return v, nil
}
