package web

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/blob"
	stores "github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/media"
)

// schema is version 1; goneSchema makes version 2 of it, sessionSchema version
// 3, waitingSchema version 4, altSchema version 5, blob.Schema and pushSchema
// version 6, changeSchema version 7. A later version adds its steps in Store.
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

// altSchema is what a picture shows, in words.
const altSchema = `
ALTER TABLE files ADD COLUMN alt TEXT NOT NULL DEFAULT '';`

// Store describes the page's store in dir.
func Store(dir string, home stores.Home) stores.Spec { return storeOf("web", dir, home) }

// storeOf is the Store of the channel of that name.
func storeOf(name, dir string, home stores.Home) stores.Spec {
	return stores.Spec{
		Name: name, Dir: dir, File: "web.db", Lock: "lock", Files: "files", Home: home,
		Schema: schema + goneSchema + sessionSchema + waitingSchema + altSchema + blob.Schema + pushSchema + changeSchema,
		Steps:  []string{goneSchema, sessionSchema, waitingSchema, altSchema, blob.Schema + pushSchema, changeSchema},
		Pragmas: []string{
			"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
			"secure_delete(1)", // what is deleted is not to be found in the file
		},
	}
}

const columns = `m.seq, m.id, m.Key, m.author, m.sender, m.assistant, m.text, m.time, m.reply_to, m.quote_from, m.quote_text, m.status, m.edited, m.removed,
	(SELECT json_group_array(json_object('emoji', emoji, 'name', name, 'who', who)) FROM reactions r WHERE r.message = m.seq),
	f.id, f.name, f.mime, f.kind, f.size, f.sha256, f.width, f.height, f.loop, f.alt
	FROM messages m LEFT JOIN files f ON f.message = m.seq`

// store is the history. All that is written goes through commit: what comes
// together is durable together.
type store struct {
	spec   stores.Spec
	lock   *os.File // of the directory: one process has it
	db     *stores.DB
	commit *stores.Committer
	news   chan struct{} // holds a value after a member's message was added
}

// openStore opens the history. keep makes the names of new files durable.
func openStore(spec stores.Spec, keep func() error) (*store, error) {
	s := &store{spec: spec, news: make(chan struct{}, 1)}
	var err error
	if s.lock, err = stores.Lock(spec); err == nil {
		s.db, err = stores.Open(context.Background(), spec)
	}
	if err == nil {
		s.commit, err = s.db.Committer(context.Background(), keep)
	}
	if err != nil {
		return nil, errors.Join(stores.Words(err), s.close())
	}
	s.db.SetMaxOpenConns(5)
	return s, nil
}

func (s *store) close() error {
	var errs []error
	if s.commit != nil {
		errs = append(errs, s.commit.Close())
	}
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

// errThere undoes an insert of what is or was there.
var errThere = errors.New("the message is or was there")

// insert adds a member's post to a chat, and makes the names of its files
// durable. It says whether the post is new: false means that one of the ids is or was
// there and nothing was added.
func (s *store) insert(ctx context.Context, chat string, msgs []*Message) (fresh bool, err error) {
	at := now()
	err = s.commit.Do(ctx, func(t *stores.Tx) error {
		for _, m := range msgs {
			m.Time = at
			if err := insertOne(t, chat, m); err != nil {
				return err
			}
		}
		_, err := t.Exec(`INSERT INTO waiting (seq, chat, own) VALUES (?,?,?)`, msgs[0].seq, chat, msgs[0].answers)
		return err
	}, nil)
	if errors.Is(err, errThere) {
		return false, nil
	}
	if err != nil {
		return false, writing(err)
	}
	for _, m := range msgs {
		m.bytes = nil // the hub keeps the message
	}
	s.poke()
	return true, nil
}

// answer adds messages of the assistant, as far as they are new: those have a seq
// then. The others get the time that they had. What a message answers is looked up
// here, since the question itself may just be going in; an unknown one is no error.
func (s *store) answer(ctx context.Context, chat string, msgs []*Message) error {
	at := now()
	err := s.commit.Do(ctx, func(t *stores.Tx) error {
		for _, m := range msgs {
			m.seq, m.Time = 0, at
			if err := quoteIn(t, chat, m); err != nil {
				return err
			}
			err := insertOne(t, chat, m)
			if errors.Is(err, errThere) {
				rows, failed := t.Query(placeOf, chat, m.ID)
				_, m.Time, err = scanPlace(rows, failed)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, nil)
	for _, m := range msgs {
		m.bytes = nil
	}
	if err != nil {
		return writing(err)
	}
	return nil
}

// now is the time as the history keeps it.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

func quoteIn(t *stores.Tx, chat string, m *Message) error {
	if m.ReplyTo == "" {
		return nil
	}
	rows, err := t.Query(messageByID, chat, m.ReplyTo)
	answered, err := all(rows, err, scan)
	if m.Quote = nil; len(answered) > 0 {
		m.Quote = answered[0].quote()
	}
	return err
}

func insertOne(t *stores.Tx, chat string, m *Message) error {
	var qf, qt any
	if m.Quote != nil {
		qf, qt = m.Quote.From, m.Quote.Text
	}
	res, err := t.Exec(`INSERT INTO messages
		(chat, id, key, author, sender, assistant, text, time, reply_to, quote_from, quote_text, status)
		SELECT ?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12 WHERE NOT EXISTS (SELECT 1 FROM gone WHERE chat = ?1 AND id = ?2)
		ON CONFLICT (chat, id) DO NOTHING`,
		chat, m.ID, m.Key, m.Author, m.From, m.Assistant, m.Text, m.Time.UnixMilli(), m.ReplyTo, qf, qt, string(m.Status))
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return cmp.Or(err, errThere)
	}
	if m.seq, err = res.LastInsertId(); err != nil || m.File == nil {
		return err
	}
	f := m.File
	t.KeepFiles = t.KeepFiles || m.bytes == nil
	if err := blob.Insert(t, f.ID, m.bytes); err != nil {
		return err
	}
	_, err = t.Exec(`INSERT INTO files (id, message, name, mime, kind, size, sha256, width, height, loop, alt) VALUES (?,?,?,?,?,?,?,?,?,?,?)`,
		f.ID, m.seq, f.Name, f.MIME, string(f.Kind), f.Size, f.SHA256, f.Width, f.Height, f.Loop, f.Alt)
	return err
}

const messageByID = "SELECT " + columns + " WHERE m.chat = ? AND m.id = ?"

// byID returns nil where the chat has no such message.
func (s *store) byID(ctx context.Context, chat, id string) (*Message, error) {
	ms, err := s.query(ctx, messageByID, chat, id)
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
	before := []Status{Sent}
	if to == Read {
		before = append(before, Delivered)
	}
	names, err := json.Marshal([]any{before, ids})
	if err != nil {
		return nil, err
	}
	var moved []string
	err = s.commit.Do(ctx, func(t *stores.Tx) error {
		rows, err := t.Query(`UPDATE messages SET status = ?1 WHERE chat = ?2 AND assistant
			AND status IN (SELECT value FROM json_each(?3, '$[0]')) AND id IN (SELECT value FROM json_each(?3, '$[1]')) RETURNING id`,
			string(to), chat, string(names))
		moved, err = all(rows, err, one[string])
		return err
	}, nil)
	if err != nil {
		return nil, writing(err)
	}
	return moved, nil
}

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
	all, err := list(context.Background(), s, one[string], "SELECT file FROM gone WHERE file <> '' UNION ALL SELECT id FROM removed_files")
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
func list[T any](ctx context.Context, s *store, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := s.db.QueryContext(ctx, query, args...)
	found, err := all(rows, err, scan)
	if err != nil {
		return nil, reading(err)
	}
	return found, nil
}

func all[T any](rows *sql.Rows, err error, scan func(*sql.Rows) (T, error)) (found []T, _ error) {
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

// one scans a row of one column.
func one[T any](rows *sql.Rows) (v T, err error) {
	err = rows.Scan(&v)
	return v, err
}

// exec writes with a constant statement.
func (s *store) exec(ctx context.Context, query string, args ...any) error {
	err := s.commit.Do(ctx, func(t *stores.Tx) error {
		_, err := t.Exec(query, args...)
		return err
	}, nil)
	if err != nil {
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
		alt                     sql.NullString
		size                    sql.NullInt64
		width, height           sql.NullInt64
		loop                    sql.NullBool
		edited                  int64
		reactions               string
	)
	err := rows.Scan(&m.seq, &m.ID, &m.Key, &m.Author, &m.From, &m.Assistant, &m.Text, &ms, &m.ReplyTo, &qf, &qt, &m.Status, &edited, &m.Removed, &reactions,
		&id, &name, &mime, &kind, &size, &h, &width, &height, &loop, &alt)
	if err != nil {
		return nil, err
	}
	m.Time = time.UnixMilli(ms).UTC()
	m.Edited = edited != 0
	if reactions != "[]" {
		m.Reactions = reactionsOf(reactions)
	}
	if qf.Valid {
		m.Quote = &Quote{From: qf.String, Text: qt.String}
	}
	if id.Valid {
		m.File = &File{ID: id.String, Name: name.String, MIME: mime.String, Kind: media.Kind(kind.String), SHA256: h.String, Alt: alt.String}
		m.File.Size, m.File.Loop = size.Int64, loop.Bool
		m.File.Width, m.File.Height = int(width.Int64), int(height.Int64)
		m.File.finish()
	}
	return &m, nil
}
