package web

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	stores "github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/media"
)

// schema is version 1; goneSchema makes version 2 of it, sessionSchema version
// 3, waitingSchema version 4. A later version adds its steps in Store.
const schema = `
CREATE TABLE messages (
	seq        INTEGER PRIMARY KEY AUTOINCREMENT,
	chat       TEXT NOT NULL,
	id         TEXT NOT NULL,
	key        TEXT NOT NULL,
	author     TEXT NOT NULL,
	sender     TEXT NOT NULL,
	assistant  INTEGER NOT NULL,
	text       TEXT NOT NULL,
	time       INTEGER NOT NULL,
	reply_to   TEXT NOT NULL,
	quote_from TEXT,
	quote_text TEXT,
	status     TEXT NOT NULL,
	UNIQUE (chat, id)
);
CREATE INDEX messages_chat ON messages (chat, seq);
CREATE INDEX messages_key ON messages (chat, key) WHERE key <> '';
CREATE TABLE files (
	id      TEXT PRIMARY KEY,
	message INTEGER NOT NULL UNIQUE REFERENCES messages (seq),
	name    TEXT NOT NULL,
	mime    TEXT NOT NULL,
	kind    TEXT NOT NULL,
	size    INTEGER NOT NULL,
	sha256  TEXT NOT NULL,
	width   INTEGER NOT NULL,
	height  INTEGER NOT NULL,
	loop    INTEGER NOT NULL
);`

// Store describes the page's store in dir.
func Store(dir string, home stores.Home) stores.Spec { return storeOf("web", dir, home) }

// storeOf is the Store of the channel of that name.
func storeOf(name, dir string, home stores.Home) stores.Spec {
	return stores.Spec{
		Name: name, Dir: dir, File: "web.db", Lock: "lock", Files: "files", Home: home,
		Schema: schema + goneSchema + sessionSchema + waitingSchema, Steps: []string{goneSchema, sessionSchema, waitingSchema},
		Pragmas: []string{
			"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
			"secure_delete(1)", // what is deleted is not to be found in the file
		},
		TxLock: "immediate",
	}
}

const columns = `m.seq, m.id, m.Key, m.author, m.sender, m.assistant, m.text, m.time, m.reply_to, m.quote_from, m.quote_text, m.status,
	f.id, f.name, f.mime, f.kind, f.size, f.sha256, f.width, f.height, f.loop
	FROM messages m LEFT JOIN files f ON f.message = m.seq`

// store is the history. Writers take turns here: left to SQLite they would
// poll for its lock.
type store struct {
	spec  stores.Spec
	lock  *os.File // of the directory: one process has it
	db    *stores.DB
	write sync.Mutex
	news  chan struct{} // holds a value after a member's message was added
}

func openStore(spec stores.Spec) (*store, error) {
	s := &store{spec: spec, news: make(chan struct{}, 1)}
	var err error
	if s.lock, err = stores.Lock(spec); err == nil {
		s.db, err = stores.Open(context.Background(), spec)
	}
	if err != nil {
		return nil, errors.Join(stores.Words(err), s.close())
	}
	s.db.SetMaxOpenConns(4)
	return s, nil
}

func (s *store) close() error {
	var errs []error
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close history: %w", err)
	}
	return nil
}

// insert adds messages to a chat, all or none. It says whether they are new:
// false means that one of the ids is or was there and nothing was added.
func (s *store) insert(ctx context.Context, chat string, msgs []*Message) (fresh bool, err error) {
	s.write.Lock()
	defer s.write.Unlock()
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return false, writing(err)
	}
	defer func() {
		if !fresh {
			// Rolling back what was rolled back already is no error here.
			_ = tx.Rollback()
		}
	}()
	for _, m := range msgs {
		var qf, qt any
		if m.Quote != nil {
			qf, qt = m.Quote.From, m.Quote.Text
		}
		res, err := tx.ExecContext(ctx, `INSERT INTO messages
			(chat, id, key, author, sender, assistant, text, time, reply_to, quote_from, quote_text, status)
			SELECT ?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12 WHERE NOT EXISTS (SELECT 1 FROM gone WHERE chat = ?1 AND id = ?2)
			ON CONFLICT (chat, id) DO NOTHING`,
			chat, m.ID, m.Key, m.Author, m.From, m.Assistant, m.Text, m.Time.UnixMilli(), m.ReplyTo, qf, qt, m.Status)
		if err != nil {
			return false, writing(err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return false, err
		}
		if m.seq, err = res.LastInsertId(); err != nil {
			return false, writing(err)
		}
		if f := m.File; f != nil {
			if _, err := tx.ExecContext(ctx, `INSERT INTO files (id, message, name, mime, kind, size, sha256, width, height, loop)
				VALUES (?,?,?,?,?,?,?,?,?,?)`, f.ID, m.seq, f.Name, f.MIME, f.Kind, f.Size, f.SHA256, f.Width, f.Height, f.Loop); err != nil {
				return false, writing(err)
			}
		}
	}
	if first := msgs[0]; !first.Assistant {
		if _, err := tx.ExecContext(ctx, `INSERT INTO waiting (seq, chat, own) VALUES (?,?,?)`, first.seq, chat, first.answers); err != nil {
			return false, writing(err)
		}
	}
	if err := tx.Commit(); err != nil {
		return false, writing(err)
	}
	if !msgs[0].Assistant {
		s.poke()
	}
	return true, nil
}

// byID returns nil where the chat has no such message.
func (s *store) byID(ctx context.Context, chat, id string) (*Message, error) {
	ms, err := s.query(ctx, "SELECT "+columns+" WHERE m.chat = ? AND m.id = ?", chat, id)
	if err != nil || len(ms) == 0 {
		return nil, err
	}
	return ms[0], nil
}

// byKey returns what was posted under the poster's own key; errGone where it
// is no longer kept.
func (s *store) byKey(ctx context.Context, chat, key string) ([]*Message, error) {
	ms, err := s.query(ctx, "SELECT "+columns+" WHERE m.chat = ? AND m.Key = ? AND m.Key <> '' ORDER BY m.seq", chat, key)
	if err != nil || len(ms) > 0 {
		return ms, err
	}
	gone, err := s.keyGone(ctx, chat, key)
	if gone {
		err = errGone
	}
	return nil, err
}

// after returns the oldest messages behind seq, oldest first.
func (s *store) after(ctx context.Context, chat string, seq int64, limit int) ([]*Message, error) {
	return s.query(ctx, "SELECT "+columns+" WHERE m.chat = ? AND m.seq > ? ORDER BY m.seq LIMIT ?", chat, seq, limit)
}

// before returns the newest messages before seq, oldest first.
func (s *store) before(ctx context.Context, chat string, seq int64, limit int) ([]*Message, error) {
	ms, err := s.query(ctx, "SELECT "+columns+" WHERE m.chat = ? AND m.seq < ? ORDER BY m.seq DESC LIMIT ?", chat, seq, limit)
	slices.Reverse(ms)
	return ms, err
}

// newest is the number of the chat's last message, 0 when it has none.
func (s *store) newest(ctx context.Context, chat string) (int64, error) {
	var seq int64
	err := s.db.QueryRowContext(ctx, "SELECT COALESCE(MAX(seq), 0) FROM messages WHERE chat = ?", chat).Scan(&seq)
	if err != nil {
		return 0, reading(err)
	}
	return seq, nil
}

// raise moves the assistant's messages among ids to a later status and
// returns those that it moved, so that each step is reported once.
func (s *store) raise(ctx context.Context, chat string, ids []string, to Status) ([]string, error) {
	from := []any{Sent}
	if to == Read {
		from = append(from, Delivered)
	}
	args := append([]any{to, chat}, from...)
	for _, id := range ids {
		args = append(args, id)
	}
	s.write.Lock()
	defer s.write.Unlock()
	return list(ctx, s, one[string], "UPDATE messages SET status = ? WHERE chat = ? AND assistant AND status IN ("+
		marks(len(from))+") AND id IN ("+marks(len(ids))+") RETURNING id", args...)
}

func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }

// file returns nil where there is none.
func (s *store) file(ctx context.Context, id string) (*File, error) {
	ms, err := s.query(ctx, "SELECT "+columns+" WHERE f.id = ?", id)
	if err != nil || len(ms) == 0 {
		return nil, err
	}
	return ms[0].File, nil
}

// deletedFiles are the ids of files whose messages were deleted.
func (s *store) deletedFiles() (map[string]bool, error) {
	all, err := list(context.Background(), s, one[string], "SELECT file FROM gone WHERE file <> ''")
	ids := map[string]bool{}
	for _, id := range all {
		ids[id] = true
	}
	return ids, err
}

// heldFile is a file of the history.
type heldFile struct {
	chat, id string
	size     int64
}

func (s *store) heldFiles() ([]heldFile, error) {
	return list(context.Background(), s, func(rows *sql.Rows) (f heldFile, err error) {
		err = rows.Scan(&f.chat, &f.id, &f.size)
		return f, err
	}, "SELECT m.chat, f.id, f.size FROM files f JOIN messages m ON m.seq = f.message")
}

func (s *store) query(ctx context.Context, q string, args ...any) ([]*Message, error) {
	return list(ctx, s, scan, q, args...)
}

// list reads what a query finds, row by row.
func list[T any](ctx context.Context, s *store, scan func(*sql.Rows) (T, error), query string, args ...any) (all []T, err error) {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, reading(err)
	}
	defer rows.Close()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, reading(err)
		}
		all = append(all, v)
	}
	if err := rows.Err(); err != nil {
		return nil, reading(err)
	}
	return all, nil
}

// one scans a row of one column.
func one[T any](rows *sql.Rows) (v T, err error) {
	err = rows.Scan(&v)
	return v, err
}

// exec writes outside a transaction.
func (s *store) exec(ctx context.Context, query string, args ...any) error {
	s.write.Lock()
	defer s.write.Unlock()
	if _, err := s.db.ExecContext(ctx, query, args...); err != nil {
		return writing(err)
	}
	return nil
}

func reading(err error) error { return fmt.Errorf("read history: %w", stores.Words(err)) }
func writing(err error) error { return fmt.Errorf("write history: %w", stores.Words(err)) }

func scan(rows *sql.Rows) (*Message, error) {
	var (
		m                       Message
		ms                      int64
		qf, qt                  sql.NullString
		id, name, mime, kind, h sql.NullString
		size                    sql.NullInt64
		width, height           sql.NullInt64
		loop                    sql.NullBool
	)
	err := rows.Scan(&m.seq, &m.ID, &m.Key, &m.Author, &m.From, &m.Assistant, &m.Text, &ms, &m.ReplyTo, &qf, &qt, &m.Status,
		&id, &name, &mime, &kind, &size, &h, &width, &height, &loop)
	if err != nil {
		return nil, err
	}
	m.Time = time.UnixMilli(ms).UTC()
	if qf.Valid {
		m.Quote = &Quote{From: qf.String, Text: qt.String}
	}
	if id.Valid {
		m.File = &File{ID: id.String, Name: name.String, MIME: mime.String, Kind: media.Kind(kind.String), SHA256: h.String}
		m.File.Size, m.File.Loop = size.Int64, loop.Bool
		m.File.Width, m.File.Height = int(width.Int64), int(height.Int64)
		m.File.finish()
	}
	return &m, nil
}
