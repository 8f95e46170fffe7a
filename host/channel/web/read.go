package web

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	stores "github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/media"
)

const columns = `m.seq, m.id, m.Key, m.author, m.sender, m.assistant, m.text, m.time, m.reply_to, m.quote_from, m.quote_text, m.status, m.tree, m.short, m.edited, m.removed, m.forwarded,
	(SELECT json_group_array(json_object('emoji', emoji, 'name', name, 'who', who)) FROM reactions r WHERE r.message = m.seq),
	` + pollColumn + `,
	f.id, f.name, f.mime, f.kind, f.size, f.sha256, f.width, f.height, f.loop, f.alt
	FROM messages m LEFT JOIN files f ON f.message = m.seq`

const messageByID = "SELECT " + columns + " WHERE m.chat = ? AND m.id = ?"

// byID returns the message with that id; nil if the chat has none.
func (s *store) byID(ctx context.Context, chat, id string) (*Message, error) {
	ms, err := s.query(ctx, messageByID, chat, id)
	if err != nil || len(ms) == 0 {
		return nil, err
	}
	return ms[0], nil
}

// byKey returns the message posted under the poster's own key; errGone if it is deleted.
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

// after returns the oldest messages after seq, oldest first. SQLite compiles a statement
// again each time a bare LIMIT ? is bound; "? + 0" keeps it.
func (s *store) after(ctx context.Context, chat string, seq int64, limit int) ([]*Message, error) {
	return s.query(ctx, "SELECT "+columns+" WHERE m.chat = ? AND m.seq > ? ORDER BY m.seq LIMIT ? + 0", chat, seq, limit)
}

// some is like after, for at most historyBytes of messages but at least one message.
func (s *store) some(ctx context.Context, chat string, seq int64) (some []*Message, err error) {
	rows, err := s.db.QueryContext(ctx, "SELECT "+columns+" WHERE m.chat = ? AND m.seq > ? ORDER BY m.seq", chat, seq)
	if err != nil {
		return nil, reading(err)
	}
	defer rows.Close()
	for size := 0; size < historyBytes && rows.Next(); {
		m, err := scan(rows)
		if err != nil {
			return nil, reading(err)
		}
		size += eventCost + len(m.Text) + len(m.look().tree)
		some = append(some, m)
	}
	if err := rows.Err(); err != nil {
		return nil, reading(err)
	}
	return some, nil
}

// before returns the newest messages before seq, oldest first.
func (s *store) before(ctx context.Context, chat string, seq int64, limit int) ([]*Message, error) {
	ms, err := s.query(ctx, "SELECT "+columns+" WHERE m.chat = ? AND m.seq < ? ORDER BY m.seq DESC LIMIT ? + 0", chat, seq, limit)
	slices.Reverse(ms)
	return ms, err
}

// newest returns the number of the chat's last message; 0 if it has none.
func (s *store) newest(ctx context.Context, chat string) (int64, error) {
	var seq int64
	err := s.db.QueryRowContext(ctx, "SELECT COALESCE(MAX(seq), 0) FROM messages WHERE chat = ?", chat).Scan(&seq)
	if err != nil {
		return 0, reading(err)
	}
	return seq, nil
}

// file returns the file with that id; nil if there is none.
func (s *store) file(ctx context.Context, id string) (*File, error) {
	ms, err := s.query(ctx, "SELECT "+columns+" WHERE f.id = ?", id)
	if err != nil || len(ms) == 0 {
		return nil, err
	}
	return ms[0].File, nil
}

// deletedFiles returns the ids of files whose messages were deleted.
func (s *store) deletedFiles() (map[string]bool, error) {
	all, err := list(context.Background(), s, one[string], "SELECT file FROM gone WHERE file <> '' UNION ALL SELECT id FROM removed_files")
	ids := map[string]bool{}
	for _, id := range all {
		ids[id] = true
	}
	return ids, err
}

// storedFile is a file of the history.
type storedFile struct {
	chat, id string
	size     int64
}

func (s *store) storedFiles() ([]storedFile, error) {
	return list(context.Background(), s, func(rows *sql.Rows) (f storedFile, err error) {
		err = rows.Scan(&f.chat, &f.id, &f.size)
		return f, err
	}, "SELECT m.chat, f.id, f.size FROM files f JOIN messages m ON m.seq = f.message")
}

func (s *store) query(ctx context.Context, q string, args ...any) ([]*Message, error) {
	return list(ctx, s, scan, q, args...)
}

// list reads the rows of a query.
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
		poll                    sql.NullString
		tree, short             sql.NullString
	)
	err := rows.Scan(&m.seq, &m.ID, &m.Key, &m.Author, &m.From, &m.Assistant, &m.Text, &ms, &m.ReplyTo, &qf, &qt, &m.Status, &tree, &short, &edited, &m.Removed, &m.Forwarded, &reactions, &poll,
		&id, &name, &mime, &kind, &size, &h, &width, &height, &loop, &alt)
	if err != nil {
		return nil, err
	}
	m.Time = time.UnixMilli(ms).UTC()
	if m.Edited = edited != 0; m.Edited {
		m.EditedAt = time.UnixMilli(edited).UTC()
	}
	if reactions != "[]" {
		m.Reactions = reactionsOf(reactions)
	}
	m.Poll = pollOf(poll.String)
	if tree.Valid {
		m.shown = &shown{json.RawMessage(tree.String), short.String}
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

func reading(err error) error { return fmt.Errorf("read history: %w", stores.Words(err)) }
func writing(err error) error { return fmt.Errorf("write history: %w", stores.Words(err)) }
