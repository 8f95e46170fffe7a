package outbox

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
)

// Reader shows an outbox's records. It needs no lock: a command may look into
// the outbox while a host works with it.
type Reader struct {
	db     *sql.DB
	one    *sql.Stmt
	chat   *sql.Stmt
	byName *sql.Stmt
}

// OpenReader opens the records of the outbox in dir, which must be there.
func OpenReader(dir string) (*Reader, error) {
	db, err := openDB(dir, "ro")
	if err != nil {
		return nil, ofDatabase("open the outbox", err)
	}
	r := &Reader{db: db}
	for query, stmt := range map[string]**sql.Stmt{itemByID: &r.one, itemsOfChat: &r.chat, idsByName: &r.byName} {
		if *stmt, err = db.Prepare(query); err != nil {
			return nil, errors.Join(ofDatabase("open the outbox", err), r.Close())
		}
	}
	return r, nil
}

// Close ends the reading.
func (r *Reader) Close() error {
	var errs []error
	for _, stmt := range []*sql.Stmt{r.one, r.chat, r.byName} {
		if stmt != nil {
			errs = append(errs, stmt.Close())
		}
	}
	return errors.Join(append(errs, r.db.Close())...)
}

// Which deliveries a Filter asks for.
const (
	FilterOpen   = "open"   // a part is not settled
	FilterFailed = "failed" // a part failed or is uncertain
	FilterAll    = "all"
)

// Filter says which deliveries to list. The zero value lists the newest 100.
type Filter struct {
	Folder string // empty: all groups
	State  string // FilterOpen, FilterFailed, FilterAll; empty is FilterAll
	Limit  int    // at most 1000; 100
	Before string // the key of the last one seen, for the next page
}

// List returns deliveries, the newest first.
func (r *Reader) List(ctx context.Context, f Filter) ([]Delivery, error) {
	query := strings.Builder{}
	query.WriteString(`SELECT id FROM delivery WHERE true`)
	var args []any
	if f.Folder != "" {
		query.WriteString(` AND folder = ?`)
		args = append(args, f.Folder)
	}
	switch f.State {
	case FilterOpen:
		query.WriteString(` AND open > 0`)
	case FilterFailed:
		query.WriteString(` AND bad > 0`)
	case FilterAll, "":
	default:
		return nil, fmt.Errorf("list deliveries: there is no filter %q, only open, failed, all", f.State)
	}
	if f.Before != "" {
		query.WriteString(` AND id < (SELECT id FROM delivery WHERE key = ?)`)
		args = append(args, f.Before)
	}
	query.WriteString(` ORDER BY id DESC LIMIT ?`)
	args = append(args, min(cmp.Or(max(f.Limit, 0), 100), 1000))
	ids, err := scanIDs(r.db.QueryContext(ctx, query.String(), args...))
	if err != nil {
		return nil, err
	}
	ds := make([]Delivery, 0, len(ids))
	for _, id := range ids {
		switch it, err := r.byID(id); {
		case errors.Is(err, ErrNotFound): // it was expired since
		case err != nil:
			return nil, err
		default:
			ds = append(ds, it.Delivery)
		}
	}
	return ds, nil
}

// Get returns the delivery of that request id, the newest where several groups
// used it, or the one whose key begins with name. Errors: ErrNotFound,
// ErrAmbiguous.
func (r *Reader) Get(_ context.Context, name string) (Delivery, error) {
	it, err := r.find(name)
	if err != nil {
		return Delivery{}, err
	}
	return it.Delivery, nil
}

const idsByName = `SELECT id FROM (SELECT id FROM delivery WHERE request = ?1 AND request <> '' ORDER BY id DESC LIMIT 1)
	UNION ALL SELECT id FROM (SELECT id FROM delivery WHERE key >= ?2 AND key < ?2 || 'g' LIMIT 2)`

func (r *Reader) find(name string) (*item, error) {
	prefix := name
	if len(name) < 4 || strings.Trim(name, "0123456789abcdef") != "" {
		prefix = "z" // no key
	}
	ids, err := scanIDs(r.byName.Query(name, prefix))
	if err != nil {
		return nil, err
	}
	ids = slices.Compact(ids)
	switch len(ids) {
	case 0:
		return nil, ErrNotFound
	case 1:
		return r.byID(ids[0])
	}
	return nil, ErrAmbiguous
}

// Recent yields, the oldest first, every delivery that is open or changed
// since then: what the host's results are rewritten from at its start. Only
// one at a time is in memory.
func (r *Reader) Recent(ctx context.Context, since time.Time) iter.Seq2[Delivery, error] {
	return func(yield func(Delivery, error) bool) {
		ids, err := scanIDs(r.db.QueryContext(ctx, `SELECT id FROM delivery WHERE open > 0
			UNION SELECT id FROM delivery WHERE open = 0 AND changed >= ? ORDER BY id`, nano(since)))
		if err != nil {
			yield(Delivery{}, err)
			return
		}
		for _, id := range ids {
			it, err := r.byID(id)
			if errors.Is(err, ErrNotFound) {
				continue
			}
			if err != nil {
				yield(Delivery{}, err)
				return
			}
			if !yield(it.Delivery, nil) {
				return
			}
		}
	}
}

func (r *Reader) byID(id int64) (*item, error) {
	items, err := scanItems(r.one.Query(id))
	switch {
	case err != nil:
		return nil, err
	case len(items) == 0:
		return nil, ErrNotFound
	}
	return items[0], nil
}

func (r *Reader) ofChat(key laneKey, after int64, n int) ([]*item, error) {
	return scanItems(r.chat.Query(key.channel, string(key.chat), after, n))
}

func scanIDs(rows *sql.Rows, err error) ([]int64, error) {
	if err != nil {
		return nil, ofDatabase("read deliveries", err)
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, ofDatabase("read deliveries", err)
		}
		ids = append(ids, id)
	}
	return ids, ofDatabase("read deliveries", rows.Err())
}
