package move

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strings"
)

// Sum is what a table holds: how many rows, a hash of them whatever their order, and the last number
// that the engine gave.
type Sum struct {
	Rows  int64     `json:"rows"`
	Hash  [4]uint64 `json:"-"` // the sum of the rows' SHA-256
	Count int64     `json:"-"`
}

// add adds a row.
func (s *Sum) add(row []any) {
	var b []byte
	for _, v := range row {
		switch v := v.(type) {
		case nil:
			b = append(b, 'n')
		case int64:
			b = binary.BigEndian.AppendUint64(append(b, 'i'), uint64(v))
		case string:
			b = append(binary.BigEndian.AppendUint64(append(b, 't'), uint64(len(v))), v...)
		case []byte:
			b = append(binary.BigEndian.AppendUint64(append(b, 'b'), uint64(len(v))), v...)
		default:
			b = fmt.Appendf(b, "?%T %v", v, v)
		}
	}
	h := sha256.Sum256(b)
	var carry uint64
	for i := range s.Hash {
		s.Hash[i], carry = bits.Add64(s.Hash[i], binary.BigEndian.Uint64(h[8*i:]), carry)
	}
	s.Rows++
}

// sumOf reads a table.
func sumOf(ctx context.Context, from Side, t *Table, replace bool) (s Sum, err error) {
	err = t.each(ctx, from, func(row []any) error {
		if replace {
			replaceIn(row)
		}
		s.add(row)
		return ctx.Err()
	})
	if err == nil {
		s.Count, err = from.counter(ctx, t)
	}
	return s, err
}

// counter is the last number that the engine gave to a row of the table; 0: none.
func (s Side) counter(ctx context.Context, t *Table) (n int64, err error) {
	switch {
	case t.Counter == "":
		return 0, nil
	case !t.Never:
		err = s.QueryRowContext(ctx, "SELECT COALESCE(MAX("+t.Counter+"), 0) FROM "+t.Name).Scan(&n)
	case s.Postgres:
		err = s.QueryRowContext(ctx, `SELECT COALESCE(pg_sequence_last_value(pg_get_serial_sequence(?, ?)::regclass), 0)`, t.Name, t.Counter).Scan(&n)
	default:
		err = s.QueryRowContext(ctx, `SELECT seq FROM sqlite_sequence WHERE name = ?`, t.Name).Scan(&n)
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
	}
	if err != nil {
		return 0, fmt.Errorf("read the numbers of the table %s: %w", t.Name, err)
	}
	return n, nil
}

// count has the engine go on behind a number.
func (s Side) count(ctx context.Context, t *Table, last int64) (err error) {
	switch {
	case t.Counter == "" || last <= 0:
		return nil
	case s.Postgres:
		_, err = s.ExecContext(ctx, `SELECT setval(pg_get_serial_sequence(?, ?)::regclass, ?)`, t.Name, t.Counter, last)
	case t.Never:
		if _, err = s.ExecContext(ctx, `DELETE FROM sqlite_sequence WHERE name = ?`, t.Name); err == nil {
			_, err = s.ExecContext(ctx, `INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)`, t.Name, last)
		}
	}
	if err != nil {
		return fmt.Errorf("set the numbers of the table %s: %w", t.Name, err)
	}
	return nil
}

const (
	rowsAtOnce  = 200
	bytesAtOnce = 1 << 20
	mostValues  = 30_000 // of one statement; SQLite takes 32,766, PostgreSQL 65,535
)

// rowsOf are rows that wait for one statement.
type rowsOf struct {
	to     Side
	table  *Table
	values []any
	rows   int
	bytes  int
}

func (r *rowsOf) add(ctx context.Context, row []any) error {
	for _, v := range row {
		switch v := v.(type) {
		case string:
			r.bytes += len(v)
		case []byte:
			r.bytes += len(v)
		}
	}
	r.values = append(r.values, row...)
	if r.rows++; r.rows < rowsAtOnce && r.bytes < bytesAtOnce && len(r.values)+len(row) <= mostValues {
		return nil
	}
	return r.flush(ctx)
}

func (r *rowsOf) flush(ctx context.Context) error {
	if r.rows == 0 {
		return nil
	}
	var values []string
	for _, c := range r.table.Columns {
		values = append(values, c.value(r.to.Postgres))
	}
	one := ", (" + strings.Join(values, ", ") + ")"
	query := "INSERT INTO " + r.table.Name + " (" + r.table.names() + ") VALUES " + strings.Repeat(one, r.rows)[2:]
	if _, err := r.to.ExecContext(ctx, query, r.values...); err != nil {
		return fmt.Errorf("write the table %s: %w", r.table.Name, err)
	}
	r.values, r.rows, r.bytes = r.values[:0], 0, 0
	return nil
}

// copyTable copies the rows of a table, of which the other side has none, and returns what it wrote.
// With replace, texts that PostgreSQL does not take are changed.
func copyTable(ctx context.Context, from, to Side, t *Table, replace bool) (s Sum, err error) {
	if _, err := to.ExecContext(ctx, "DELETE FROM "+t.Name); err != nil { // what the schema itself puts in
		return s, fmt.Errorf("write the table %s: %w", t.Name, err)
	}
	w := rowsOf{to: to, table: t}
	err = t.each(ctx, from, func(row []any) error {
		if replace {
			replaceIn(row)
		}
		s.add(row)
		return w.add(ctx, row)
	})
	if err == nil {
		err = w.flush(ctx)
	}
	if err == nil {
		s.Count, err = from.counter(ctx, t)
	}
	if err == nil {
		err = to.count(ctx, t, s.Count)
	}
	return s, err
}

// Copied is a table that was copied.
type Copied struct {
	Table string `json:"table"`
	Sum
}

// copyWhole copies a table, and reads it back.
func copyWhole(ctx context.Context, from, to Side, t *Table, replace bool) (c Copied, err error) {
	wrote, err := copyTable(ctx, from, to, t, replace)
	if err != nil {
		return c, err
	}
	got, err := sumOf(ctx, to, t, false)
	if err == nil && got != wrote {
		err = fmt.Errorf("the table %s has %d rows and not the %d that were written, or other ones", t.Name, got.Rows, wrote.Rows)
	}
	return Copied{t.Name, got}, err
}

// equal compares a table of both sides.
func equal(ctx context.Context, from, to Side, t *Table, replace bool) (got Sum, same bool, err error) {
	want, err := sumOf(ctx, from, t, replace)
	if err == nil {
		got, err = sumOf(ctx, to, t, false)
	}
	return got, got == want, err
}

// Unfit is a value that PostgreSQL does not take.
type Unfit struct {
	Table  string `json:"table"`
	Key    string `json:"key"`
	Column string `json:"column"`
	Why    string `json:"why"`
	text   bool   // it can be replaced
}

const mostUnfit = 50

// unfit lists the first values of an SQLite database that PostgreSQL does not take.
func unfit(ctx context.Context, from Side) (all []Unfit, err error) {
	known, err := tables(ctx, from)
	for i := range known {
		t := &known[i]
		err := t.each(ctx, from, func(row []any) error {
			for n, c := range t.Columns {
				if why := c.unfit(row[n]); why != "" && len(all) < mostUnfit {
					_, text := row[n].(string)
					all = append(all, Unfit{t.Name, t.key(row), c.Name, why, text && c.Type == "TEXT"})
				}
			}
			return ctx.Err()
		})
		if err != nil {
			return nil, err
		}
	}
	return all, err
}
