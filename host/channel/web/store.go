package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/longshore-bridge/longshore/host/blob"
	stores "github.com/longshore-bridge/longshore/host/store"
)

// schema is version 1. goneSchema makes version 2 of it, sessionSchema version 3,
// waitingSchema version 4, altSchema version 5, blob.Schema and pushSchema version 6,
// changeSchema, pollSchema and actSchema version 7, shownSchema version 8 and forwardSchema
// version 9. A later version adds its steps in Store.
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

// altSchema is the text description of a picture.
const altSchema = `
ALTER TABLE files ADD COLUMN alt TEXT NOT NULL DEFAULT '';`

// Store describes the page's store in dir.
func Store(dir string, home stores.Home) stores.Spec { return storeOf("web", dir, home) }

// storeOf describes the store of the channel of that name.
func storeOf(name, dir string, home stores.Home) stores.Spec {
	return stores.Spec{
		Name: name, Dir: dir, File: "web.db", Lock: "lock", Files: "files", Home: home,
		Schema: schema + goneSchema + sessionSchema + waitingSchema + altSchema + blob.Schema + pushSchema + changeSchema + pollSchema + actSchema + shownSchema + forwardSchema,
		Steps:  []string{goneSchema, sessionSchema, waitingSchema, altSchema, blob.Schema + pushSchema, changeSchema + pollSchema + actSchema, shownSchema, forwardSchema},
		Pragmas: []string{
			"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
			"secure_delete(1)", // what is deleted is not to be found in the file
		},
	}
}

// store is the history. All writes go through commit; what is written together is durable
// together.
type store struct {
	spec   stores.Spec
	lock   *os.File // of the directory: one process has it
	db     *stores.DB
	commit *stores.Committer
	news   chan struct{} // holds a value after a member's message was added
}

// laterBlobs are the blobs, which are opened after the store.
type laterBlobs struct{ *Web }

func (b laterBlobs) Keep() error { return b.blobs.Keep() }

// openStore opens the history. Its files are the blobs.
func openStore(spec stores.Spec, files stores.Files) (*store, error) {
	s := &store{spec: spec, news: make(chan struct{}, 1)}
	var err error
	if s.lock, err = stores.Lock(spec); err == nil {
		s.db, err = stores.Open(context.Background(), spec)
	}
	if err == nil {
		s.commit, err = s.db.Committer(context.Background(), files)
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

// errThere rolls back an insert of a message that exists or existed.
var errThere = errors.New("the message is or was there")

// insert adds a member's post to a chat, and makes the names of its files durable. It
// returns false if one of the ids exists or existed; then nothing was added.
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

// answer adds the assistant's new messages and sets their seq. Messages that exist get
// their stored time. It looks up quoted messages in the same transaction, because the
// question itself may just be going in; an unknown quote is no error.
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
				rows, failed := t.Query(seqQuery, chat, m.ID)
				_, m.Time, err = scanPosition(rows, failed)
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

// now returns the time in the precision of the history.
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
		(chat, id, key, author, sender, assistant, text, time, reply_to, quote_from, quote_text, status, tree, short, forwarded)
		SELECT ?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15 WHERE NOT EXISTS (SELECT 1 FROM gone WHERE chat = ?1 AND id = ?2)
		ON CONFLICT (chat, id) DO NOTHING`,
		chat, m.ID, m.Key, m.Author, m.From, m.Assistant, m.Text, m.Time.UnixMilli(), m.ReplyTo, qf, qt, string(m.Status), string(m.shown.tree), m.shown.short, m.Forwarded)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return cmp.Or(err, errThere)
	}
	if m.seq, err = res.LastInsertId(); err == nil && m.Poll != nil {
		err = insertPoll(t, m)
	}
	if err != nil || m.File == nil {
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

// raise moves the assistant's messages among ids to a later status and returns those that
// moved, so that each step is reported once.
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
