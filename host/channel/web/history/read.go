package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
	stores "github.com/longshore-bridge/longshore/host/store"
)

const (
	maxSome     = 64 << 10 // of messages that Some returns
	messageCost = 256      // of a message, beside its text
)

// messages begins every query of messages.
const messages = `SELECT seq, id, key, author, sender, assistant, time, reply_to, quote, forwarded, status, file, edited, removed, reactions, text, tree, short, poll
	FROM page_message WHERE channel = ? AND `

const messageByID = messages + "chat = ? AND id = ?"

// ByID returns the message with that id; nil if the chat has none.
func (s *Store) ByID(ctx context.Context, chat, id string) (*Message, error) {
	return first(s.query(ctx, messageByID, s.name, chat, id))
}

// read is ByID inside a transaction.
func (s *Store) read(t *state.Tx, chat, id string) (*Message, error) {
	rows, err := t.Query(messageByID, s.name, chat, id)
	return first(state.All(rows, err, scan))
}

func first(ms []*Message, err error) (*Message, error) {
	if err != nil || len(ms) == 0 {
		return nil, err
	}
	return ms[0], nil
}

// ByKey returns the message posted under the poster's own key; ErrGone if it is deleted.
func (s *Store) ByKey(ctx context.Context, chat, key string) ([]*Message, error) {
	ms, err := s.query(ctx, messages+"chat = ? AND key = ? AND key <> '' ORDER BY seq", s.name, chat, key)
	if err != nil || len(ms) > 0 {
		return ms, err
	}
	gone, err := s.keyGone(ctx, chat, key)
	if gone {
		err = ErrGone
	}
	return nil, err
}

// After returns the oldest messages after seq, oldest first. SQLite compiles a statement
// again each time a bare LIMIT ? is bound; "? + 0" keeps it.
func (s *Store) After(ctx context.Context, chat string, seq int64, limit int) ([]*Message, error) {
	return s.query(ctx, messages+"chat = ? AND seq > ? ORDER BY seq LIMIT ? + 0", s.name, chat, seq, limit)
}

// Some is like After, for at most 64 KiB of messages but at least one message.
func (s *Store) Some(ctx context.Context, chat string, seq int64) (some []*Message, err error) {
	rows, err := s.db.QueryContext(ctx, messages+"chat = ? AND seq > ? ORDER BY seq", s.name, chat, seq)
	if err != nil {
		return nil, reading(err)
	}
	defer rows.Close()
	for size := 0; size < maxSome && rows.Next(); {
		m, err := scan(rows)
		if err != nil {
			return nil, reading(err)
		}
		size += messageCost + len(m.Text) + len(m.Shown.Tree)
		some = append(some, m)
	}
	if err := rows.Err(); err != nil {
		return nil, reading(err)
	}
	return some, nil
}

// Before returns the newest messages before seq, oldest first.
func (s *Store) Before(ctx context.Context, chat string, seq int64, limit int) ([]*Message, error) {
	ms, err := s.query(ctx, messages+"chat = ? AND seq < ? ORDER BY seq DESC LIMIT ? + 0", s.name, chat, seq, limit)
	slices.Reverse(ms)
	return ms, err
}

// Newest returns the number of the chat's last message; 0 if it has none.
func (s *Store) Newest(ctx context.Context, chat string) (int64, error) {
	return s.number(ctx, "SELECT COALESCE(MAX(seq), 0) FROM page_message WHERE channel = ? AND chat = ?", s.name, chat)
}

// Unread returns the number of messages after seq, at most limit.
func (s *Store) Unread(ctx context.Context, chat string, seq int64, limit int) (int64, error) {
	return s.number(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM page_message WHERE channel = ? AND chat = ? AND seq > ? LIMIT ?) AS unread", s.name, chat, seq, limit)
}

// File returns the file with that id; nil if there is none.
func (s *Store) File(ctx context.Context, id string) (*File, error) {
	return s.file(ctx, "", s.name, id)
}

// FileIn returns the file with that id of a message in a chat; nil if there is none.
func (s *Store) FileIn(ctx context.Context, chat, id string) (*File, error) {
	return s.file(ctx, "chat = ? AND ", s.name, chat, id)
}

func (s *Store) file(ctx context.Context, where string, args ...any) (*File, error) {
	m, err := first(s.query(ctx, messages+where+"blob = ? AND blob <> '' AND removed = 0", args...))
	if m == nil {
		return nil, err
	}
	return m.File, nil
}

func (s *Store) query(ctx context.Context, q string, args ...any) ([]*Message, error) {
	return list(ctx, s, scan, q, args...)
}

// number reads one number.
func (s *Store) number(ctx context.Context, query string, args ...any) (n int64, err error) {
	if err := s.db.QueryRowContext(ctx, query, args...).Scan(&n); err != nil {
		return 0, reading(err)
	}
	return n, nil
}

// list reads the rows of a query.
func list[T any](ctx context.Context, s *Store, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := s.db.QueryContext(ctx, query, args...)
	found, err := state.All(rows, err, scan)
	if err != nil {
		return nil, reading(err)
	}
	return found, nil
}

func scan(rows *sql.Rows) (*Message, error) {
	var m Message
	var at, edited int64
	var quote, file, reactions, tree, poll string
	err := rows.Scan(&m.Seq, &m.ID, &m.Key, &m.Author, &m.From, &m.Assistant, &at, &m.ReplyTo, &quote, &m.Forwarded, &m.Status, &file,
		&edited, &m.Removed, &reactions, &m.Text, &tree, &m.Shown.Short, &poll)
	if err != nil {
		return nil, err
	}
	m.Time = time.UnixMilli(at).UTC()
	if m.Edited = edited != 0; m.Edited {
		m.EditedAt = time.UnixMilli(edited).UTC()
	}
	m.Shown.Tree = json.RawMessage(tree)
	for _, c := range []struct {
		text string
		into any
	}{{quote, &m.Quote}, {file, &m.File}, {reactions, &m.Reactions}, {poll, &m.Poll}} {
		if c.text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(c.text), c.into); err != nil {
			return nil, err
		}
	}
	if m.File != nil {
		m.File.finish()
	}
	return &m, nil
}

func reading(err error) error { return fmt.Errorf("read history: %w", stores.Words(err)) }
func writing(err error) error { return fmt.Errorf("write history: %w", stores.Words(err)) }
