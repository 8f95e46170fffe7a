package history

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// A chunk is what one change deletes. All others wait for it who write to the state.
const (
	chunkRows  = 64
	chunkBytes = 1 << 20 // of texts and small files: SQLite overwrites them
)

// keepGone is how long the ids of a deleted message are kept. No delivery is repeated after that
// time.
const keepGone = 365 * 24 * time.Hour

// ErrGone is returned for something that existed and is deleted.
var ErrGone = errors.New("no longer kept")

// forgotten is one message that was deleted.
type forgotten struct {
	seq   int64
	chat  string
	id    string
	key   string
	time  int64
	file  string // its id; empty: it had none
	size  int64
	bytes int64 // of its text, in the database
}

// Rule says which messages are deleted: the expired ones of the channel, or the oldest of one
// chat.
type Rule struct {
	Chat   string    // empty: all chats, and Before counts
	Before time.Time // messages from before that time
	UpTo   int64     // messages up to this number
	Excess int64     // messages whose files have that many bytes together
}

// forget deletes a chunk of the oldest messages by a rule, and returns them. more is false
// if none is left. The caller then removes the files. Nobody else deletes messages of the
// channel meanwhile.
func (s *Store) forget(ctx context.Context, r Rule) (due []forgotten, more bool, err error) {
	due, more, err = s.due(ctx, r)
	if err != nil || len(due) == 0 {
		return nil, false, err
	}
	at := time.Now().UnixMilli()
	err = s.db.Do(ctx, func(t *state.Tx) error {
		for i := range due {
			if err := s.delete(t, &due[i], at); err != nil {
				return err
			}
		}
		return nil
	}, nil)
	if err != nil {
		return nil, false, writing(err)
	}
	return due, more, nil
}

// Forget deletes messages and their files chunk by chunk, and returns the number of messages.
// Between two chunks it waits as long as one took, so that others can write.
func (s *Store) Forget(ctx context.Context, r Rule, files *Files) (total int, err error) {
	for {
		began := time.Now()
		gone, more, err := s.forget(ctx, r)
		total += len(gone)
		if err != nil {
			return total, err
		}
		// A crash here leaves files without rows, which the next start removes.
		if err := files.remove(gone); err != nil || !more {
			return total, err
		}
		for _, f := range gone {
			r.Excess -= f.size
		}
		if !wake.Sleep(ctx, time.Since(began)) {
			return total, ctx.Err()
		}
	}
}

const (
	pick        = `SELECT seq, chat, id, key, time, blob, size, octet_length(text) + octet_length(tree) FROM page_message WHERE channel = ? AND `
	pickExpired = pick + `time < ? ORDER BY time, seq LIMIT ? + 0`
	pickOldest  = pick + `chat = ? ORDER BY seq LIMIT ? + 0`
)

// due returns the chunk that forget deletes: expired messages, or the beginning of a chat up
// to the first message that may stay. It reads beside the writer.
func (s *Store) due(ctx context.Context, r Rule) (due []forgotten, more bool, err error) {
	query, of := pickExpired, any(r.Before.UnixMilli())
	if r.Chat != "" {
		query, of = pickOldest, r.Chat
	}
	found, err := list(ctx, s, func(rows *sql.Rows) (f forgotten, err error) {
		err = rows.Scan(&f.seq, &f.chat, &f.id, &f.key, &f.time, &f.file, &f.size, &f.bytes)
		return f, err
	}, query, s.name, of, chunkRows)
	bytes := int64(0)
	for _, f := range found {
		if r.Chat != "" && f.seq > r.UpTo && r.Excess <= 0 {
			return due, false, err
		}
		if bytes += f.bytes; f.file != "" && !blob.IsName(f.file) {
			bytes += f.size
		}
		if len(due) > 0 && bytes > chunkBytes {
			return due, true, err
		}
		r.Excess -= f.size
		due = append(due, f)
	}
	return due, len(found) == chunkRows, err
}

// delete deletes a message. It sets the size of the file anew, which a member may have removed
// since the message was picked.
func (s *Store) delete(t *state.Tx, f *forgotten, at int64) error {
	for _, step := range []string{
		`DELETE FROM page_waiting WHERE seq = ?`,
		`DELETE FROM page_change WHERE message = ?`,
	} {
		if err := t.Exec(step, f.seq); err != nil {
			return err
		}
	}
	if err := t.QueryRow(`DELETE FROM page_message WHERE seq = ? RETURNING size`, f.seq).Scan(&f.size); err != nil {
		return err
	}
	if err := t.Exec(`INSERT INTO page_gone (seq, channel, chat, id, key, file, time, forgotten) VALUES (?,?,?,?,?,?,?,?)`,
		f.seq, s.name, f.chat, f.id, f.key, f.file, f.time, at); err != nil {
		return err
	}
	return blob.Delete(t, f.file)
}

// Beyond returns the number of the newest message that has keep newer ones in its chat; 0
// if there is none.
func (s *Store) Beyond(ctx context.Context, chat string, keep int) (int64, error) {
	return s.number(ctx, `SELECT COALESCE((SELECT seq FROM page_message WHERE channel = ? AND chat = ? ORDER BY seq DESC LIMIT 1 OFFSET ? + 0), 0)`, s.name, chat, keep)
}

// ExpireGone deletes the records of messages that were deleted longer ago than keepGone, the oldest
// first. A chat's last record stays: it shows that the chat began earlier.
func (s *Store) ExpireGone(ctx context.Context) error {
	for before := time.Now().Add(-keepGone).UnixMilli(); ; {
		n, err := s.db.Exec(ctx, `DELETE FROM page_gone WHERE seq IN (SELECT g.seq FROM page_gone AS g WHERE g.channel = ? AND g.forgotten < ?
			AND EXISTS (SELECT 1 FROM page_gone AS l WHERE l.channel = g.channel AND l.chat = g.chat AND l.seq > g.seq) ORDER BY g.forgotten LIMIT ? + 0)`,
			s.name, before, chunkRows)
		if err != nil {
			return writing(err)
		}
		if n < chunkRows {
			return nil
		}
	}
}

const seqQuery = `SELECT seq, time FROM page_message WHERE channel = ?1 AND chat = ?2 AND id = ?3
	UNION ALL SELECT seq, time FROM page_gone WHERE channel = ?1 AND chat = ?2 AND id = ?3`

// SeqOf returns a message's number in its chat's order and its time, even if the message is
// deleted; 0 if it never existed.
func (s *Store) SeqOf(ctx context.Context, chat, id string) (seq int64, at time.Time, err error) {
	rows, err := s.db.QueryContext(ctx, seqQuery, s.name, chat, id)
	if seq, at, err = scanPosition(rows, err); err != nil {
		return 0, time.Time{}, reading(err)
	}
	return seq, at, nil
}

func scanPosition(rows *sql.Rows, err error) (seq int64, at time.Time, _ error) {
	_, err = state.All(rows, err, func(rows *sql.Rows) (_ struct{}, err error) {
		var ms int64
		err = rows.Scan(&seq, &ms)
		at = time.UnixMilli(ms).UTC()
		return struct{}{}, err
	})
	return seq, at, err
}

// AnyGone reports whether messages of a chat were deleted.
func (s *Store) AnyGone(ctx context.Context, chat string) (bool, error) {
	return s.holds(ctx, "SELECT EXISTS (SELECT 1 FROM page_gone WHERE channel = ? AND chat = ?)", s.name, chat)
}

// FileGone reports whether a file with that id was deleted.
func (s *Store) FileGone(ctx context.Context, id string) (bool, error) {
	return s.holds(ctx, "SELECT EXISTS (SELECT 1 FROM page_gone WHERE channel = ? AND file = ? AND file <> '')", s.name, id)
}

// keyGone reports whether a message posted under a key was deleted.
func (s *Store) keyGone(ctx context.Context, chat, key string) (bool, error) {
	return s.holds(ctx, "SELECT EXISTS (SELECT 1 FROM page_gone WHERE channel = ? AND chat = ? AND key = ? AND key <> '')", s.name, chat, key)
}

func (s *Store) holds(ctx context.Context, q string, args ...any) (yes bool, err error) {
	if err := s.db.QueryRowContext(ctx, q, args...).Scan(&yes); err != nil {
		return false, reading(err)
	}
	return yes, nil
}

// ForgetFormer deletes the messages from before a time of each channel that is not configured, and
// has no later ones. It returns these channels.
func ForgetFormer(ctx context.Context, db *state.DB, configured []string, before time.Time, log *slog.Logger) (former []string, err error) {
	err = New(db, "").eachChannel(ctx, func(name string) error {
		if slices.Contains(configured, name) {
			return nil
		}
		s := New(db, name)
		newest, err := s.number(ctx, `SELECT COALESCE(MAX(time), 0) FROM page_message WHERE channel = ?`, name)
		if err != nil || newest >= before.UnixMilli() {
			return err
		}
		total, err := s.Forget(ctx, Rule{Before: before}, &Files{Store: db.Blobs, used: map[string]int64{}})
		if total > 0 {
			log.Info("old messages of a channel that is not configured deleted", "channel", name, "messages", total)
		}
		if err != nil {
			return err
		}
		former = append(former, name)
		if err := s.exec(ctx, "DELETE FROM page_act WHERE channel = ? AND time < ?", name, before.UnixMilli()); err != nil {
			return err
		}
		return s.ExpireGone(ctx)
	})
	return former, err
}

// eachChannel calls see for every channel that has or had messages.
func (s *Store) eachChannel(ctx context.Context, see func(name string) error) error {
	for name := ""; ; {
		next, err := list(ctx, s, state.One[string], `SELECT COALESCE(MIN(channel), '') FROM (SELECT MIN(channel) AS channel FROM page_message WHERE channel > ?1
			UNION ALL SELECT MIN(channel) FROM page_gone WHERE channel > ?1) AS later`, name)
		if err != nil || next[0] == "" {
			return err
		}
		name = next[0]
		if err := see(name); err != nil {
			return err
		}
	}
}
