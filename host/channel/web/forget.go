package web

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/longshore-bridge/longshore/host/blob"
	stores "github.com/longshore-bridge/longshore/host/store"
)

// goneSchema is version 2: the numbers and ids of deleted messages. The ids are never
// reused, a repeated Send finds that it was done, and a page that has the message finds
// its position.
const goneSchema = `
CREATE TABLE gone (
	seq       INTEGER PRIMARY KEY,
	chat      TEXT NOT NULL,
	id        TEXT NOT NULL,
	key       TEXT NOT NULL,
	file      TEXT NOT NULL,
	time      INTEGER NOT NULL,
	forgotten INTEGER NOT NULL,
	UNIQUE (chat, id)
);
CREATE INDEX gone_chat ON gone (chat, seq);
CREATE INDEX gone_key ON gone (chat, key) WHERE key <> '';
CREATE UNIQUE INDEX gone_file ON gone (file) WHERE file <> '';`

// errGone is returned for something that existed and is deleted.
var errGone = errors.New("no longer kept")

// forgotten is one message that was deleted.
type forgotten struct {
	seq  int64
	time int64
	file string // its id; empty: it had none
	size int64
}

// forget deletes the oldest messages of a chat: messages from before a time, and messages
// whose files have at least excess bytes together, but at most limit messages. The caller
// then removes the files. Calls must not overlap.
func (s *store) forget(ctx context.Context, chat string, before time.Time, excess int64, limit int) ([]forgotten, error) {
	due, err := s.due(ctx, chat, before, excess, limit)
	if err != nil || len(due) == 0 {
		return nil, err
	}
	last, now := due[len(due)-1].seq, time.Now().UnixMilli()
	err = s.commit.Do(ctx, func(t *stores.Tx) error {
		for _, step := range []string{
			`INSERT INTO gone (seq, chat, id, key, file, time, forgotten)
				SELECT m.seq, m.chat, m.id, m.key, COALESCE(f.id, ''), m.time, ?3
				FROM messages m LEFT JOIN files f ON f.message = m.seq WHERE m.chat = ?1 AND m.seq <= ?2`,
			`DELETE FROM waiting WHERE chat = ?1 AND seq <= ?2`,
			`DELETE FROM files WHERE message IN (SELECT seq FROM messages WHERE chat = ?1 AND seq <= ?2)`,
			`DELETE FROM messages WHERE chat = ?1 AND seq <= ?2`,
		} {
			if _, err := t.Exec(step, chat, last, now); err != nil {
				return err
			}
		}
		for _, f := range due {
			if err := blob.Delete(t, f.file); err != nil {
				return err
			}
		}
		return nil
	}, nil)
	if err != nil {
		return nil, writing(err)
	}
	return due, nil
}

// due returns what forget deletes: the beginning of the history, up to the first message
// that may stay.
func (s *store) due(ctx context.Context, chat string, before time.Time, excess int64, limit int) (due []forgotten, err error) {
	all, err := list(ctx, s, func(rows *sql.Rows) (f forgotten, err error) {
		err = rows.Scan(&f.seq, &f.time, &f.file, &f.size)
		return f, err
	}, `SELECT m.seq, m.time, COALESCE(f.id, ''), COALESCE(f.size, 0)
		FROM messages m LEFT JOIN files f ON f.message = m.seq WHERE m.chat = ? ORDER BY m.seq LIMIT ?`, chat, limit)
	for _, f := range all {
		if excess <= 0 && f.time >= before.UnixMilli() {
			break
		}
		excess -= f.size
		due = append(due, f)
	}
	return due, err
}

// expireGone deletes the records of messages that were deleted before a time, the oldest
// first and at most limit. The last record stays: it shows that the chat began earlier.
func (s *store) expireGone(ctx context.Context, chat string, before time.Time, limit int) error {
	return s.exec(ctx, `DELETE FROM gone WHERE seq < (SELECT MAX(seq) FROM gone WHERE chat = ?1) AND forgotten < ?2
		AND seq IN (SELECT seq FROM gone WHERE chat = ?1 ORDER BY seq LIMIT ?3)`, chat, before.UnixMilli(), limit)
}

// nextChat returns the first chat after name, in the order of names, that has messages;
// empty if there is none.
func (s *store) nextChat(ctx context.Context, name string) (string, error) {
	var next sql.NullString
	if err := s.db.QueryRowContext(ctx, "SELECT MIN(chat) FROM messages WHERE chat > ?", name).Scan(&next); err != nil {
		return "", reading(err)
	}
	return next.String, nil
}

const seqQuery = `SELECT seq, time FROM messages WHERE chat = ?1 AND id = ?2
	UNION ALL SELECT seq, time FROM gone WHERE chat = ?1 AND id = ?2`

// seqOf returns a message's number in its chat's order and its time, even if the message is
// deleted; 0 if it never existed.
func (s *store) seqOf(ctx context.Context, chat, id string) (seq int64, at time.Time, err error) {
	rows, err := s.db.QueryContext(ctx, seqQuery, chat, id)
	if seq, at, err = scanPosition(rows, err); err != nil {
		return 0, time.Time{}, reading(err)
	}
	return seq, at, nil
}

func scanPosition(rows *sql.Rows, err error) (seq int64, at time.Time, _ error) {
	_, err = all(rows, err, func(rows *sql.Rows) (_ struct{}, err error) {
		var ms int64
		err = rows.Scan(&seq, &ms)
		at = time.UnixMilli(ms).UTC()
		return struct{}{}, err
	})
	return seq, at, err
}

// anyGone reports whether messages of a chat were deleted.
func (s *store) anyGone(ctx context.Context, chat string) (bool, error) {
	return s.holds(ctx, "SELECT EXISTS (SELECT 1 FROM gone WHERE chat = ?)", chat)
}

// fileGone reports whether a file with that id was deleted.
func (s *store) fileGone(ctx context.Context, id string) (bool, error) {
	return s.holds(ctx, "SELECT EXISTS (SELECT 1 FROM gone WHERE file = ? AND file <> '')", id)
}

// keyGone reports whether a message posted under a key was deleted.
func (s *store) keyGone(ctx context.Context, chat, key string) (bool, error) {
	return s.holds(ctx, "SELECT EXISTS (SELECT 1 FROM gone WHERE chat = ? AND key = ? AND key <> '')", chat, key)
}

func (s *store) holds(ctx context.Context, q string, args ...any) (yes bool, err error) {
	if err := s.db.QueryRowContext(ctx, q, args...).Scan(&yes); err != nil {
		return false, reading(err)
	}
	return yes, nil
}
