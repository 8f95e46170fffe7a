package audit

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
)

const (
	rowsPiece  = 2000           // entries of a piece: a statement takes no long time
	rowsRead   = 2 * remembered // that end reads
	rowsExpire = 1000           // that are removed at once, if the newest of them is too old
)

// rowKeeper keeps the trail as rows of the state. What put has written is durable.
type rowKeeper struct {
	db  *state.DB
	log *slog.Logger
}

func (k *rowKeeper) key() (key []byte, err error) {
	fresh := make([]byte, keyBytes)
	_, _ = rand.Read(fresh) // never fails
	err = k.db.Do(context.Background(), func(t *state.Tx) error {
		if err := t.Exec(`INSERT INTO audit_key (id, key) VALUES (1, ?) ON CONFLICT (id) DO NOTHING`, fresh); err != nil {
			return err
		}
		return t.QueryRow(`SELECT key FROM audit_key WHERE id = 1`).Scan(&key)
	}, nil)
	if err == nil && len(key) != keyBytes { // with a shorter one, a number could be guessed
		err = errors.New("the key in the table audit_key is damaged; delete its row: the trail then has other hashes for numbers from here on")
	}
	return key, err
}

func (k *rowKeeper) end(see func(Entry)) (number int64, hash string, cut int64, err error) {
	ctx := context.Background()
	rows, err := k.db.QueryContext(ctx, `SELECT n, time, event, delivery FROM audit_entry WHERE n > (SELECT COALESCE(MAX(n), 0) FROM audit_entry) - ? ORDER BY n`, rowsRead)
	all, err := state.All(rows, err, func(rows *sql.Rows) (e Entry, err error) {
		var at int64
		err = rows.Scan(&e.Number, &at, &e.Event, &e.Delivery)
		e.Time = time.Unix(0, at)
		return e, err
	})
	for _, e := range all {
		see(e)
		number = e.Number
	}
	if err != nil || number == 0 {
		return 0, "", 0, err
	}
	var last string
	err = k.db.QueryRowContext(ctx, `SELECT line FROM audit_entry WHERE n = ?`, number).Scan(&last)
	return number, hashOf([]byte(last + "\n")), 0, err
}

// put looks first how far the trail goes: a commit whose answer was lost may have put the first of all.
func (k *rowKeeper) put(number int64, hash string, all []Entry) (last int64, end string, err error) {
	err = k.db.Do(context.Background(), func(t *state.Tx) error {
		last, end = number, hash
		rows, err := t.Query(`SELECT line FROM audit_entry WHERE n > ? ORDER BY n`, number)
		there, err := state.All(rows, err, state.One[string])
		if err != nil {
			return err
		}
		if len(there) > len(all) {
			return fmt.Errorf("the trail goes on behind entry %d: another host writes it", number)
		}
		for _, line := range there {
			last, end = last+1, hashOf([]byte(line+"\n"))
		}
		for _, e := range all[len(there):] {
			var out bytes.Buffer
			if _, end, err = chain(&out, last, end, []Entry{e}); err != nil {
				return err
			}
			last++
			if err := t.Exec(`INSERT INTO audit_entry (n, time, event, delivery, line) VALUES (?, ?, ?, ?, ?)`, last, e.Time.UnixNano(), e.Event, e.Delivery, string(bytes.TrimSuffix(out.Bytes(), []byte("\n")))); err != nil {
				return err
			}
		}
		return nil
	}, nil)
	if err != nil {
		return number, hash, err
	}
	return last, end, nil
}

func (k *rowKeeper) sync() error { return nil }

func (k *rowKeeper) expire(keep time.Duration) error {
	for {
		removed, err := k.db.Exec(context.Background(), `DELETE FROM audit_entry WHERE n < (SELECT MIN(n) FROM audit_entry) + ?
			AND (SELECT time FROM audit_entry WHERE n >= (SELECT MIN(n) FROM audit_entry) + ? ORDER BY n LIMIT 1) < ?`, rowsExpire, rowsExpire, time.Now().Add(-keep).UnixNano())
		if err != nil || removed == 0 {
			return err
		}
		k.log.Info("old entries of the audit trail are removed", "entries", removed)
	}
}

func (k *rowKeeper) Close() error { return nil }

// Rows is the trail in the rows of a state, which may be open for reading alone.
func Rows(db Reader) Trail { return rowsIn{db} }

// Reader is a database that is read, or a transaction.
type Reader interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// rowsIn is a database with the trail's rows.
type rowsIn struct{ db Reader }

func (r rowsIn) maskKey() (key []byte) {
	_ = r.db.QueryRowContext(context.Background(), `SELECT key FROM audit_key WHERE id = 1`).Scan(&key) // without it, nothing is masked
	return key
}

func (r rowsIn) pieces(ctx context.Context, back bool) iter.Seq2[piece, error] {
	query, at := `SELECT n, line FROM audit_entry WHERE n > ? ORDER BY n LIMIT ?`, int64(math.MinInt64)
	if back {
		query, at = `SELECT n, line FROM audit_entry WHERE n < ? ORDER BY n DESC LIMIT ?`, math.MaxInt64
	}
	return func(yield func(piece, error) bool) {
		for {
			rows, err := r.db.QueryContext(ctx, query, at, rowsPiece)
			some, err := state.All(rows, err, func(rows *sql.Rows) (one row, err error) { return one, rows.Scan(&one.n, &one.line) })
			if err != nil {
				yield(nil, err)
				return
			}
			if len(some) == 0 {
				return
			}
			at = some[len(some)-1].n
			if back {
				slices.Reverse(some)
			}
			if !yield(someRows(some), nil) {
				return
			}
		}
	}
}

// row is one entry's row.
type row struct {
	n    int64
	line string // without its end
}

type someRows []row

func (all someRows) each(see func(line []byte, at place) error) error {
	for _, one := range all {
		if err := see([]byte(one.line+"\n"), place{line: int(one.n)}); err != nil {
			return err
		}
	}
	return nil
}
