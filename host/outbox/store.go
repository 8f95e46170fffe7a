package outbox

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/media"
)

// openStates are the states of an open part, for SQL.
const openStates = `('queued', 'sending', 'pending')`

// unendedStates are those of a part that may still be sent.
const unendedStates = `('queued', 'sending', 'pending', 'waiting')`

// waits is the condition of a delivery that waits for an approval, for SQL.
const waits = `id IN (SELECT delivery FROM approval WHERE answer = '')`

// item is a delivery in memory. Its parts are as recorded, except for Sending, Attempts
// and Sent, a mark of doubt that is being written, and outcomes after which a part stays
// open. Once the item is in a lane, mu guards it.
type item struct {
	Delivery
	id   int64
	seq  int64         // the order within a chat; a retry gets a new one
	held time.Duration // the channel's total when it was accepted
	pos  int           // the part that goes out next

	small    []File // the files whose bytes Put has to record
	replaced bool   // a later request has the same id
}

// skip moves pos to the next open part.
func (it *item) skip() {
	for it.pos < len(it.Parts) && !it.Parts[it.pos].State.open() {
		it.pos++
	}
}

const selectItems = `SELECT d.id, d.key, d.turn, d.folder, d.request, d.channel, d.chat, d.thread, d.asked, d.created, d.held, d.batch, d.bound,
	p.message_id, p.text, p.reply_to, p.file, p.blob, p.state, p.doubt, p.attempts, p.next,
	p.receipt, p.receipt_time, p.receipt_note, p.code, p.message, p.hint, p.shown, p.saved, p.act, p.delivered_at, p.read_at, p.unthreaded
	FROM delivery d JOIN part p ON p.delivery = d.id `

const (
	itemByID = selectItems + `WHERE d.id = ? ORDER BY p.position`

	// itemsOfChat reads the next open deliveries of a chat, in the order of their ids:
	// for the order of their turns SQLite would copy and sort all columns. It compiles a
	// statement again each time a bare LIMIT ? is bound, because the plan may depend on it;
	// "? + 0" keeps the plan.
	itemsOfChat = selectItems + `WHERE d.id IN (SELECT id FROM delivery
		WHERE channel = ? AND chat = ? AND open > 0 AND turn > ? ORDER BY turn LIMIT ? + 0)
		ORDER BY d.id, p.position`
)

// scanItems reads the rows of selectItems; the rows of one delivery are consecutive.
func scanItems(rows *sql.Rows, err error) (items []*item, _ error) {
	err = each(rows, err, func() error {
		var it item
		var p Part
		var asked, created, doubt, next, received, delivered, read int64
		var file, names, act string
		if err := rows.Scan(&it.id, &it.Key, &it.seq, &it.Folder, &it.Request, &it.Channel, &it.Chat, &it.Thread, &asked, &created, &it.held, &it.Batch, &it.Bound,
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
		if n := len(items); n == 0 || items[n-1].id != it.id {
			it.Asked, it.Created = fromNano(asked), fromNano(created)
			items = append(items, &it)
		}
		last := items[len(items)-1]
		last.Parts = append(last.Parts, p)
		return nil
	})
	for _, it := range items {
		it.skip()
	}
	return items, ofDatabase("read deliveries", err)
}

func scanIDs(rows *sql.Rows, err error) (ids []int64, _ error) {
	err = each(rows, err, func() error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, ofDatabase("read deliveries", err)
}

// scanNames reads the names of parts' blobs.
func scanNames(rows *sql.Rows, err error) (names []string, _ error) {
	err = each(rows, err, func() error {
		var some string
		err := rows.Scan(&some)
		names = append(names, strings.Fields(some)...)
		return err
	})
	return names, err
}

// each calls row for each row of a query's result, and closes it.
func each(rows *sql.Rows, err error, row func() error) error {
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

// storedFile is the JSON of a File in the part table.
type storedFile struct {
	media.Info
	SHA256 string   `json:"sha256"`
	Names  []string `json:"names,omitempty"`
}

// encodeFiles returns the JSON of files. Only the names of those that wait for an approval are judged again.
func encodeFiles(files []File, waits bool) (string, error) {
	if len(files) == 0 {
		return "", nil
	}
	stored := make([]storedFile, len(files))
	for i, f := range files {
		stored[i] = storedFile{Info: f.Info, SHA256: f.SHA256}
		if waits {
			stored[i].Names = f.Names
		}
	}
	b, err := json.Marshal(stored)
	return string(b), err
}

func decodeFiles(files, blobs string) ([]File, error) {
	if files == "" {
		return nil, nil
	}
	var stored []storedFile
	if err := json.Unmarshal([]byte(files), &stored); err != nil {
		return nil, err
	}
	names := strings.Fields(blobs)
	all := make([]File, len(stored))
	for i, s := range stored {
		all[i] = File{Info: s.Info, SHA256: s.SHA256, Names: s.Names}
		if len(names) == len(all) {
			all[i].Blob = names[i]
		}
	}
	return all, nil
}

// bit is a truth as the records have it.
func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func nano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNano(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}

// turns takes the next n turns, which order the deliveries of each chat, and returns the last
// of them.
func turns(t *state.Tx, n int) (last int64, err error) {
	rows, err := t.Query(`UPDATE delivery_order SET last = last + ? RETURNING last`, n)
	err = each(rows, err, func() error { return rows.Scan(&last) })
	return last, ofDatabase("order deliveries", err)
}

// insert records a delivery and returns its id, or 0 if its key is known.
func insert(t *state.Tx, it *item, now time.Time) (int64, error) {
	open := 0
	for i := range it.Parts {
		if it.Parts[i].State.open() {
			open++
		}
	}
	rows, err := t.Query(`INSERT INTO delivery (key, turn, folder, request, channel, chat, thread, asked, created, held, changed, open, batch, bound)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING RETURNING id`,
		it.Key, it.seq, it.Folder, it.Request, it.Channel, string(it.Chat), it.Thread, nano(it.Asked), nano(it.Created), int64(it.held), nano(now), open, bit(it.Batch), it.Bound)
	var id int64
	if err := each(rows, err, func() error { return rows.Scan(&id) }); err != nil || id == 0 {
		return 0, ofDatabase("record a delivery", err)
	}
	for i := range it.Parts {
		if err := insertPart(t, id, i, &it.Parts[i], it.Approval != nil); err != nil {
			return 0, err
		}
	}
	for i := range it.Parts {
		if l := it.Parts[i].Link; l != nil {
			if err := insertLink(t, &it.Delivery, l); err != nil {
				return 0, err
			}
		}
		if a := it.Parts[i].Act; a != nil && a.Verb == VerbUnsend {
			if err := unlink(t, it.Address(), a.Target); err != nil {
				return 0, err
			}
		}
	}
	names := it.blobs() // without those of parts that are sent
	for _, f := range it.small {
		if !slices.Contains(names, f.Blob) {
			continue
		}
		if err := blob.Insert(t, f.Blob, f.Bytes); err != nil {
			return 0, ofDatabase("keep a file", err)
		}
	}
	return id, nil
}

func insertPart(t *state.Tx, id int64, position int, p *Part, waits bool) error {
	files, err := encodeFiles(p.Files, waits)
	if err != nil {
		return err
	}
	act, err := p.actText()
	if err != nil {
		return err
	}
	_, err = t.Exec(`INSERT INTO part (delivery, position, message_id, text, reply_to, file, size, blob, state, act, written, receipt_note, unthreaded, attempts, receipt, receipt_time)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		id, position, p.MessageID, p.Text, p.ReplyTo, files, p.Size(), strings.Join(p.blobs(), " "), string(p.State), act, p.Written, p.Receipt.Note, bit(p.Unthreaded),
		p.Attempts, p.Receipt.ID, nano(p.Receipt.Time))
	return ofDatabase("record a delivery", err)
}

// update records a part's state and reports whether the part has ended by it. It does not
// change a part that has ended already, because an operator may have cancelled the part
// meanwhile. save writes the channel's data for the next attempt; update clears it once
// the part is sent.
func update(t *state.Tx, id int64, position int, p *Part, now time.Time) (ended bool, err error) {
	if p.plainlySent() {
		return sent(t, id, position, p, now)
	}
	n, err := t.Changed(`UPDATE part SET state = ?, attempts = ?, next = ?, doubt = ?, blob = ?,
		receipt = ?, receipt_time = ?, receipt_note = ?, code = ?, message = ?, hint = ?, shown = ?, saved = CASE WHEN ? = 1 THEN NULL ELSE saved END,
		delivered_at = ?, read_at = ?
		WHERE delivery = ? AND position = ? AND state IN `+openStates,
		string(p.State), p.Attempts, nano(p.Next), nano(p.Doubt), strings.Join(p.blobs(), " "),
		p.Receipt.ID, nano(p.Receipt.Time), p.Receipt.Note, p.Code, p.Message, p.Hint, string(p.Shown), bit(p.State.sent()), nano(p.DeliveredAt), nano(p.ReadAt), id, position)
	if err != nil || n == 0 || p.State.open() {
		return false, ofDatabase("record an outcome", err)
	}
	bad := 0
	if p.State == Failed || p.State == Uncertain {
		bad = 1
	}
	_, err = t.Exec(`UPDATE delivery SET open = open - 1, bad = bad + ?, changed = ? WHERE id = ?`, bad, nano(now), id)
	return true, ofDatabase("record an outcome", err)
}

// plainlySent reports whether a part has the outcome of nearly all: sent, and there is
// nothing else to say.
func (p *Part) plainlySent() bool {
	return p.State == Sent && len(p.Files) == 0 && p.Doubt.IsZero() && p.Next.IsZero() && p.Receipt.Note == "" && p.Code == "" && p.Message == "" && p.Hint == ""
}

// sent is update for a part that is plainlySent. To bind fewer values saves a fifth of the time.
func sent(t *state.Tx, id int64, position int, p *Part, now time.Time) (ended bool, err error) {
	n, err := t.Changed(`UPDATE part SET state = ?, attempts = ?, receipt = ?, receipt_time = ?, shown = ?,
		next = 0, doubt = 0, receipt_note = '', code = '', message = '', hint = '', saved = NULL
		WHERE delivery = ? AND position = ? AND state IN `+openStates,
		string(p.State), p.Attempts, p.Receipt.ID, nano(p.Receipt.Time), string(p.Shown), id, position)
	if err == nil && n > 0 {
		_, err = t.Exec(`UPDATE delivery SET open = open - 1, changed = ? WHERE id = ?`, nano(now), id)
	}
	return n > 0, ofDatabase("record an outcome", err)
}
