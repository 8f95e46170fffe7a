package records

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/state"
)

const selectRecords = `SELECT d.id, d.key, d.turn, d.folder, d.request, d.channel, d.chat, d.thread, d.asked, d.created, d.held, d.batch, d.bound,
	p.message_id, p.text, p.reply_to, p.file, p.blob, p.state, p.doubt, p.attempts, p.next,
	p.receipt, p.receipt_time, p.receipt_note, p.code, p.message, p.hint, p.shown, p.saved, p.act, p.delivered_at, p.read_at, p.unthreaded
	FROM delivery d JOIN part p ON p.delivery = d.id `

const (
	recordByID = selectRecords + `WHERE d.id = ? ORDER BY p.position`

	// recordsOfChat reads the next open deliveries of a chat, in the order of their ids:
	// for the order of their turns SQLite would copy and sort all columns. It compiles a
	// statement again each time a bare LIMIT ? is bound, because the plan may depend on it;
	// "? + 0" keeps the plan.
	recordsOfChat = selectRecords + `WHERE d.id IN (SELECT id FROM delivery
		WHERE channel = ? AND chat = ? AND open > 0 AND turn > ? ORDER BY turn LIMIT ? + 0)
		ORDER BY d.id, p.position`
)

// scanRecords reads the rows of selectRecords; the rows of one delivery are consecutive.
func scanRecords(rows *sql.Rows, err error) (items []*Record, _ error) {
	err = state.Each(rows, err, func() error {
		var it Record
		var p Part
		var asked, created, doubt, next, received, delivered, read int64
		var file, names, act string
		if err := rows.Scan(&it.ID, &it.Key, &it.Turn, &it.Folder, &it.Request, &it.Channel, &it.Chat, &it.Thread, &asked, &created, &it.Held, &it.Batch, &it.Bound,
			&p.MessageID, &p.Text, &p.ReplyTo, &file, &names, &p.State, &doubt, &p.Attempts, &next,
			&p.Receipt.ID, &received, &p.Receipt.Note, &p.Code, &p.Message, &p.Hint, &p.Shown, &p.Saved, &act, &delivered, &read, &p.Unthreaded); err != nil {
			return err
		}
		var err error
		if p.Files, err = decodeFiles(file, names); err != nil {
			return fmt.Errorf("delivery %s: %w", it.Key, err)
		}
		if err := p.setAct(act); err != nil {
			return fmt.Errorf("delivery %s: %w", it.Key, err)
		}
		p.Doubt, p.Next, p.Receipt.Time = fromNano(doubt), fromNano(next), fromNano(received)
		p.DeliveredAt, p.ReadAt = fromNano(delivered), fromNano(read)
		if n := len(items); n == 0 || items[n-1].ID != it.ID {
			it.Asked, it.Created = fromNano(asked), fromNano(created)
			items = append(items, &it)
		}
		last := items[len(items)-1]
		last.Parts = append(last.Parts, p)
		return nil
	})
	return items, ofDatabase("read deliveries", err)
}

// Reader reads an outbox's records. It needs no lock: a command may read the outbox while a
// host works with it.
type Reader struct {
	db     *sql.DB
	one    *sql.Stmt
	chat   *sql.Stmt
	byName *sql.Stmt
	known  *sql.Stmt
	asks   *sql.Stmt
}

// NewReader makes a reader of the records in an open state. The caller closes it before the
// database.
func NewReader(ctx context.Context, db *sql.DB) (_ *Reader, err error) {
	r := &Reader{db: db}
	for query, stmt := range map[string]**sql.Stmt{recordByID: &r.one, recordsOfChat: &r.chat, idsByName: &r.byName, knownKeys: &r.known, asksIn: &r.asks} {
		if *stmt, err = db.PrepareContext(ctx, query); err != nil {
			return nil, errors.Join(ofDatabase("read the outbox", err), r.Close())
		}
	}
	return r, nil
}

// Close closes the reader, and not the database.
func (r *Reader) Close() error {
	var errs []error
	for _, stmt := range []*sql.Stmt{r.one, r.chat, r.byName, r.known, r.asks} {
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
		switch it, err := r.Record(ctx, id); {
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
	it, err := r.Find(ctx, name)
	if err != nil {
		return Delivery{}, err
	}
	return it.Delivery, nil
}

const idsByName = `SELECT id FROM (SELECT id FROM delivery WHERE request = ?1 AND request <> '' ORDER BY id DESC LIMIT 1) AS latest
	UNION ALL SELECT id FROM (SELECT id FROM delivery WHERE key >= ?2 AND key < ?2 || 'g' LIMIT 2) AS begun`

// Find is Get, with what only the record has.
func (r *Reader) Find(ctx context.Context, name string) (*Record, error) {
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
		return r.Record(ctx, ids[0])
	}
	return nil, ErrAmbiguous
}

// Record returns a delivery. Error: ErrNotFound.
func (r *Reader) Record(ctx context.Context, id int64) (*Record, error) {
	items, err := scanRecords(r.one.QueryContext(ctx, id))
	switch {
	case err != nil:
		return nil, err
	case len(items) == 0:
		return nil, ErrNotFound
	}
	return items[0], nil
}

// OfChat returns the next n open deliveries of a chat, in their order: those after a turn.
func (r *Reader) OfChat(key groups.Address, after int64, n int) ([]*Record, error) {
	items, err := scanRecords(r.chat.Query(key.Channel, string(key.JID), after, n))
	slices.SortFunc(items, func(a, b *Record) int { return cmp.Compare(a.Turn, b.Turn) })
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
		if err := state.Each(rows, err, func() error {
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
		switch it, err := r.Record(ctx, id); {
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

// Requested reports whether the group's request with this id was accepted, as far as the records go back.
func (r *Reader) Requested(ctx context.Context, folder, request string) (found bool, err error) {
	err = r.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM delivery WHERE request = ? AND folder = ?)`, request, folder).Scan(&found)
	return found, ofDatabase("look for deliveries", err)
}

// RequestedSince reports whether a request of the group was accepted at or after the time.
func (r *Reader) RequestedSince(ctx context.Context, folder string, since time.Time) (bool, error) {
	var found bool
	err := r.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM delivery WHERE folder = ? AND created >= ? AND request <> '')`, folder, nano(since)).Scan(&found)
	return found, ofDatabase("look for deliveries", err)
}

// SentFile reports whether a file of the group has reached a chat, as far as the records
// go back.
func (r *Reader) SentFile(ctx context.Context, folder string) (found bool, err error) {
	err = r.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM delivery d JOIN part p ON p.delivery = d.id
		WHERE d.folder = ? AND p.file <> '' AND p.state IN ('sent', 'delivered', 'read'))`, folder).Scan(&found)
	return found, ofDatabase("look for deliveries", err)
}
