package outbox

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
)

// Reader reads an outbox's records. It needs no lock: a command may read the outbox while a
// host works with it.
type Reader struct {
	db     *sql.DB
	one    *sql.Stmt
	chat   *sql.Stmt
	byName *sql.Stmt
	known  *sql.Stmt
}

// NewReader makes a reader of the records in an open state. The caller closes it before the
// database.
func NewReader(ctx context.Context, db *sql.DB) (_ *Reader, err error) {
	r := &Reader{db: db}
	for query, stmt := range map[string]**sql.Stmt{itemByID: &r.one, itemsOfChat: &r.chat, idsByName: &r.byName, knownKeys: &r.known} {
		if *stmt, err = db.PrepareContext(ctx, query); err != nil {
			return nil, errors.Join(ofDatabase("read the outbox", err), r.Close())
		}
	}
	return r, nil
}

// Close closes the reader, and not the database.
func (r *Reader) Close() error {
	var errs []error
	for _, stmt := range []*sql.Stmt{r.one, r.chat, r.byName, r.known} {
		if stmt != nil {
			errs = append(errs, stmt.Close())
		}
	}
	return errors.Join(errs...)
}

// The states that a Filter selects.
const (
	FilterOpen    = "open"    // a part is still open, or waits for an approval
	FilterMoving  = "moving"  // a part is still open and waits for no approval
	FilterWaiting = "waiting" // for an approval
	FilterFailed  = "failed"  // a part failed or is uncertain
	FilterAll     = "all"
)

// Filter selects the deliveries to list. The zero value selects the newest 100.
type Filter struct {
	Folder string // empty: all groups
	State  string // FilterOpen, FilterMoving, FilterWaiting, FilterFailed, FilterAll; empty is FilterAll
	Limit  int    // at most 1000; 100
	Oldest bool   // the oldest first instead of the newest
	Before string // the key of the last delivery listed, for the next page
}

// List returns deliveries, the newest first, or the oldest.
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
		query.WriteString(` AND (open > 0 OR ` + waits + `)`)
	case FilterMoving:
		query.WriteString(` AND open > 0`)
	case FilterWaiting:
		query.WriteString(` AND ` + waits)
	case FilterFailed:
		query.WriteString(` AND bad > 0`)
	case FilterAll, "":
	default:
		return nil, fmt.Errorf("list deliveries: there is no filter %q, only open, moving, waiting, failed, all", f.State)
	}
	further, order := `<`, ` DESC`
	if f.Oldest {
		further, order = `>`, ``
	}
	if f.Before != "" {
		query.WriteString(` AND id ` + further + ` (SELECT id FROM delivery WHERE key = ?)`)
		args = append(args, f.Before)
	}
	query.WriteString(` ORDER BY id` + order + ` LIMIT ?`)
	args = append(args, min(cmp.Or(max(f.Limit, 0), 100), 1000))
	ids, err := scanIDs(r.db.QueryContext(ctx, query.String(), args...))
	if err != nil {
		return nil, err
	}
	ds := make([]Delivery, 0, len(ids))
	for _, id := range ids {
		switch it, err := r.byID(ctx, id); {
		case errors.Is(err, ErrNotFound): // it was expired since
		case err != nil:
			return nil, err
		default:
			ds = append(ds, it.Delivery)
		}
	}
	return ds, nil
}

// Get returns the delivery with that request id (the newest, if several groups used the
// id), or the delivery whose key begins with name. Errors: ErrNotFound, ErrAmbiguous.
func (r *Reader) Get(ctx context.Context, name string) (Delivery, error) {
	it, err := r.find(ctx, name)
	if err != nil {
		return Delivery{}, err
	}
	return it.Delivery, nil
}

const idsByName = `SELECT id FROM (SELECT id FROM delivery WHERE request = ?1 AND request <> '' ORDER BY id DESC LIMIT 1) AS latest
	UNION ALL SELECT id FROM (SELECT id FROM delivery WHERE key >= ?2 AND key < ?2 || 'g' LIMIT 2) AS begun`

func (r *Reader) find(ctx context.Context, name string) (*item, error) {
	prefix := name
	if len(name) < 4 || strings.Trim(name, "0123456789abcdef") != "" {
		prefix = "z" // no key
	}
	ids, err := scanIDs(r.byName.QueryContext(ctx, name, prefix))
	if err != nil {
		return nil, err
	}
	ids = slices.Compact(ids)
	switch len(ids) {
	case 0:
		return nil, ErrNotFound
	case 1:
		return r.byID(ctx, ids[0])
	}
	return nil, ErrAmbiguous
}

func (r *Reader) byID(ctx context.Context, id int64) (*item, error) {
	items, err := scanItems(r.one.QueryContext(ctx, id))
	switch {
	case err != nil:
		return nil, err
	case len(items) == 0:
		return nil, ErrNotFound
	}
	return items[0], nil
}

func (r *Reader) ofChat(key groups.Address, after int64, n int) ([]*item, error) {
	items, err := scanItems(r.chat.Query(key.Channel, string(key.JID), after, n))
	slices.SortFunc(items, func(a, b *item) int { return cmp.Compare(a.seq, b.seq) })
	return items, err
}

// knownAtOnce is how many keys knownKeys takes.
const knownAtOnce = 16

var knownKeys = `SELECT key FROM delivery WHERE key IN (?` + strings.Repeat(", ?", knownAtOnce-1) + `)`

// Known reports which keys have a record. A request that is seen again after a crash, and
// has a record, only needs to be unlinked.
func (r *Reader) Known(ctx context.Context, keys []string) (map[string]bool, error) {
	known := map[string]bool{}
	for some := range slices.Chunk(keys, knownAtOnce) {
		args := make([]any, knownAtOnce)
		for i := range args {
			args[i] = some[min(i, len(some)-1)]
		}
		rows, err := r.known.QueryContext(ctx, args...)
		if err := each(rows, err, func() error {
			var key string
			err := rows.Scan(&key)
			known[key] = true
			return err
		}); err != nil {
			return nil, ofDatabase("look for deliveries", err)
		}
	}
	return known, nil
}

// Ended calls see for each delivery that ended and last changed at or after since and before
// until, the oldest change first, as far as the records go back. In memory are the ids of all, and one
// delivery.
func (r *Reader) Ended(ctx context.Context, since, until time.Time, see func(*Delivery)) error {
	ids, err := scanIDs(r.db.QueryContext(ctx, `SELECT id FROM delivery WHERE open = 0 AND changed >= ? AND changed < ? AND NOT `+waits+`
		ORDER BY changed, id`, nano(since), nano(until)))
	if err != nil {
		return err
	}
	for _, id := range ids {
		switch it, err := r.byID(ctx, id); {
		case errors.Is(err, ErrNotFound): // it was expired since
		case err != nil:
			return err
		default:
			see(&it.Delivery)
		}
	}
	return nil
}

// AcceptedSince reports whether anything from the group was accepted at or after
// the time, other than the deliveries whose keys are in but.
func (r *Reader) AcceptedSince(ctx context.Context, folder, thread string, since time.Time, but ...string) (bool, error) {
	var found bool
	args := []any{folder, nano(since), thread}
	for _, key := range but {
		args = append(args, key)
	}
	err := r.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM delivery
		WHERE folder = ? AND created >= ? AND (request <> '' OR thread = ? AND NOT EXISTS (SELECT 1 FROM part WHERE delivery = delivery.id AND act NOT IN ('', '{"host":true}')))`+strings.Repeat(" AND key <> ?", len(but))+`)`, args...).Scan(&found)
	return found, ofDatabase("look for deliveries", err)
}

// List returns deliveries, the newest first, with the progress of sends.
func (o *Outbox) List(ctx context.Context, f Filter) ([]Delivery, error) {
	ds, err := o.reader.List(ctx, f)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	now := make(map[string]*item, len(o.live))
	for _, it := range o.live {
		now[it.Key] = it
	}
	for i := range ds {
		if it := now[ds[i].Key]; it != nil && ds[i].Open() { // else memory hears of the record in a moment
			ds[i] = it.clone()
		}
	}
	return ds, nil
}

// Get returns one delivery, by request id or by the first letters of its key, with the
// progress of its sends. Errors: ErrNotFound, ErrAmbiguous.
func (o *Outbox) Get(ctx context.Context, name string) (Delivery, error) {
	it, err := o.reader.find(ctx, name)
	if err != nil {
		return Delivery{}, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if live := o.live[it.id]; live != nil && it.Open() {
		it = live
	}
	return it.clone(), nil
}

// Reader returns a reader of the same records. It is closed with the outbox.
func (o *Outbox) Reader() *Reader { return o.reader }

// Stats are the figures for the operator and the metrics.
type Stats struct {
	Pending    int       // open parts, and those that wait for an approval
	Waiting    int       // deliveries that wait for an approval
	Bytes      int64     // of their files
	Retained   int64     // bytes kept of failed parts
	Chats      int       // with something open
	InFlight   int       // sends under way
	Stalled    int       // of them, those that make no progress
	Unrecorded int       // outcomes that wait for the disk
	Oldest     time.Time // when the oldest open delivery was accepted; zero: none
	Held       []string  // channels that wait for an operator

	// Since Open.
	Attempts, Sent, Failed, Uncertain int64
	Answers                           map[string]int64 // to approvals: yes, no, none (nobody answered in time) and lost (the bytes were gone)
}

// Stats counts. It reads only the records of open deliveries.
func (o *Outbox) Stats(ctx context.Context) (Stats, error) {
	s := Stats{
		Attempts: o.counters.attempts.Load(), Sent: o.counters.sent.Load(),
		Failed: o.counters.failed.Load(), Uncertain: o.counters.uncertain.Load(),
	}
	o.mu.Lock()
	s.Unrecorded, s.Answers = len(o.outcomes), maps.Clone(o.answers)
	for _, u := range o.usage {
		s.Pending += u.parts + u.waiting
		s.Bytes += u.bytes + u.waitingBytes
		s.Retained += u.retained
	}
	for _, l := range o.lines {
		if !l.hold.since.IsZero() {
			s.Held = append(s.Held, l.name)
		}
	}
	for _, ln := range o.lanes {
		if ln.count > 0 {
			s.Chats++
		}
		if ln.attempt != nil {
			s.InFlight++
			if ln.attempt.stalled {
				s.Stalled++
			}
		}
	}
	o.mu.Unlock()
	slices.Sort(s.Held)
	var oldest int64
	err := o.state.QueryRowContext(ctx, `SELECT coalesce(min(created), 0), (SELECT count(*) FROM approval WHERE answer = '')
		FROM delivery WHERE open > 0`).Scan(&oldest, &s.Waiting)
	s.Oldest = fromNano(oldest)
	return s, ofDatabase("count deliveries", err)
}
