package outbox

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

//go:embed schema.sql
var schema string

// schemaVersion is what user_version says once schema.sql has been applied.
const schemaVersion = 1

const (
	dbName   = "outbox.db"
	filesDir = "files"
	lockName = "lock"
)

// item is a delivery in memory. Its parts say what is durable, but for
// Sending, Attempts and Sent; once it is in a lane, mu guards it.
type item struct {
	Delivery
	id    int64
	turn  int64
	held  time.Duration // the channel's total when it was accepted
	begun []bool        // per part: durably marked, the platform may have it
	pos   int           // the part that goes out next
	doubt bool          // the platform may have the part at pos: ask first
}

// skip moves pos to the next open part, if it is not at one.
func (it *item) skip() {
	for it.pos < len(it.Parts) && !it.Parts[it.pos].State.open() {
		it.pos++
	}
	it.doubt = it.pos < len(it.Parts) && it.begun[it.pos]
}

// openDB opens the database for writing or, with mode "ro", for reading.
func openDB(dir, mode string) (*sql.DB, error) {
	u := url.URL{Scheme: "file", Path: filepath.Join(dir, dbName)}
	q := url.Values{"mode": {mode}, "_pragma": {"busy_timeout(5000)"}}
	if mode == "ro" {
		q.Add("_pragma", "query_only(1)")
	} else {
		q.Add("_pragma", "journal_mode(WAL)")
		q.Add("_pragma", "synchronous(FULL)")
	}
	u.RawQuery = q.Encode()
	return sql.Open("sqlite", u.String())
}

// openWriter makes the one connection that writes, and the schema if it is
// not there yet.
func openWriter(ctx context.Context, dir string) (*sql.DB, *sql.Conn, error) {
	f, err := os.OpenFile(filepath.Join(dir, dbName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open the outbox: %w", err)
	}
	f.Close()
	db, err := openDB(dir, "rw")
	if err != nil {
		return nil, nil, ofDatabase("open the outbox", err)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, nil, errors.Join(ofDatabase("open the outbox", err), db.Close())
	}
	if err := migrate(ctx, conn); err != nil {
		return nil, nil, errors.Join(ofDatabase("open the outbox", err), conn.Close(), db.Close())
	}
	return db, conn, nil
}

func migrate(ctx context.Context, conn *sql.Conn) error {
	var version int
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	switch {
	case version == schemaVersion:
		return nil
	case version > schemaVersion:
		return ErrNewer
	}
	script := fmt.Sprintf("BEGIN IMMEDIATE;\n%s\nPRAGMA user_version = %d;\nCOMMIT;", schema, schemaVersion)
	_, err := conn.ExecContext(ctx, script)
	return err
}

const selectItems = `SELECT d.id, d.key, d.turn, d.folder, d.request, d.channel, d.chat, d.created, d.held,
	p.message_id, p.text, p.reply_to, p.file, p.blob, p.state, p.begun, p.attempts, p.next,
	p.receipt, p.receipt_time, p.receipt_note, p.code, p.message, p.hint
	FROM delivery d JOIN part p ON p.delivery = d.id `

const (
	itemByID = selectItems + `WHERE d.id = ? ORDER BY p.position`

	// itemsOfChat reads the next open deliveries of a chat.
	itemsOfChat = selectItems + `WHERE d.id IN (SELECT id FROM delivery
		WHERE channel = ? AND chat = ? AND open > 0 AND turn > ? ORDER BY turn LIMIT ?)
		ORDER BY d.turn, p.position`
)

// scanItems reads what selectItems returns; the rows of one delivery follow
// each other.
func scanItems(rows *sql.Rows, err error) ([]*item, error) {
	if err != nil {
		return nil, ofDatabase("read deliveries", err)
	}
	defer rows.Close()
	var items []*item
	for rows.Next() {
		var it item
		var p Part
		var created, next, received int64
		var file, blob string
		var begun bool
		if err := rows.Scan(&it.id, &it.Key, &it.turn, &it.Folder, &it.Request, &it.Channel, &it.Chat, &created, &it.held,
			&p.MessageID, &p.Text, &p.ReplyTo, &file, &blob, &p.State, &begun, &p.Attempts, &next,
			&p.Receipt.ID, &received, &p.Receipt.Note, &p.Code, &p.Message, &p.Hint); err != nil {
			return nil, ofDatabase("read deliveries", err)
		}
		if p.File, err = decodeFile(file, blob); err != nil {
			return nil, fmt.Errorf("read delivery %s: %w", it.Key, err)
		}
		p.Next, p.Receipt.Time = fromNano(next), fromNano(received)
		if n := len(items); n == 0 || items[n-1].id != it.id {
			it.Created = fromNano(created)
			items = append(items, &it)
		}
		last := items[len(items)-1]
		last.Parts, last.begun = append(last.Parts, p), append(last.begun, begun)
	}
	for _, it := range items {
		it.skip()
	}
	return items, ofDatabase("read deliveries", rows.Err())
}

// storedFile is how a File stands in the part table.
type storedFile struct {
	media.Info
	SHA256 string `json:"sha256"`
}

func encodeFile(f *File) (string, error) {
	if f == nil {
		return "", nil
	}
	b, err := json.Marshal(storedFile{f.Info, f.SHA256})
	return string(b), err
}

func decodeFile(file, blob string) (*File, error) {
	if file == "" {
		return nil, nil
	}
	var s storedFile
	if err := json.Unmarshal([]byte(file), &s); err != nil {
		return nil, err
	}
	return &File{Info: s.Info, SHA256: s.SHA256, Blob: blob}, nil
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

// insert writes a delivery and returns its id, or 0 when its key is known.
func insert(t *tx, d *Delivery, turn int64, held time.Duration, now time.Time) (int64, error) {
	res, err := t.exec(`INSERT INTO delivery (key, turn, folder, request, channel, chat, created, held, changed, open)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING`,
		d.Key, turn, d.Folder, d.Request, d.Channel, string(d.Chat), nano(d.Created), int64(held), nano(now), len(d.Parts))
	if err != nil {
		return 0, ofDatabase("record a delivery", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return 0, err
	}
	id, err := res.LastInsertId()
	if err != nil {
		return 0, err
	}
	for i, p := range d.Parts {
		file, err := encodeFile(p.File)
		if err != nil {
			return 0, err
		}
		if _, err := t.exec(`INSERT INTO part (delivery, position, message_id, text, reply_to, file, size, blob, state)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			id, i, p.MessageID, p.Text, p.ReplyTo, file, p.size(), p.blob(), string(p.State)); err != nil {
			return 0, ofDatabase("record a delivery", err)
		}
	}
	return id, nil
}

// update writes where a part stands and says whether that settled it. A part
// that is settled already stays as it is: an operator may have dropped it
// meanwhile.
func update(t *tx, id int64, position int, p *Part, now time.Time) (settled bool, err error) {
	n, err := t.changed(`UPDATE part SET state = ?, attempts = ?, next = ?, begun = begun OR ?, blob = ?,
		receipt = ?, receipt_time = ?, receipt_note = ?, code = ?, message = ?, hint = ?
		WHERE delivery = ? AND position = ? AND state IN ('queued', 'sending')`,
		string(p.State), p.Attempts, nano(p.Next), p.State == Sending || p.Code == codeAmbiguous, p.blob(),
		p.Receipt.ID, nano(p.Receipt.Time), p.Receipt.Note, p.Code, p.Message, p.Hint, id, position)
	if err != nil || n == 0 || p.State.open() {
		return false, ofDatabase("record an outcome", err)
	}
	bad := 0
	if p.State == Failed || p.State == Uncertain {
		bad = 1
	}
	_, err = t.exec(`UPDATE delivery SET open = open - 1, bad = bad + ?, changed = ? WHERE id = ?`, bad, nano(now), id)
	return true, ofDatabase("record an outcome", err)
}

// receiptOf is the receipt that a channel gave, with a time.
func receiptOf(r channel.Receipt) channel.Receipt {
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	return r
}
