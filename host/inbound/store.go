package inbound

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
)

// seenKeep is how many messages of a group are known again after they are done.
const seenKeep = 2000

// Change is a part of one transaction. It may run again, so it keeps nothing but what it
// sets anew.
type Change = func(t *state.Tx) error

// Store is one group's part of the tables of the state whose names begin with inbound_. A method that
// returns a Change writes nothing itself: [Store.Do] does.
type Store struct {
	DB     *state.DB
	Folder string

	secret []byte // of SenderID and Sign

	mu   sync.Mutex
	last time.Time // Kept of the last message: these times sort in order
}

// NewStore returns the part of a group. secret is the installation's, and messages are what an
// earlier host has left.
func NewStore(db *state.DB, folder string, secret []byte, messages []*Message) *Store {
	s := &Store{DB: db, Folder: folder, secret: mac(secret, folder)}
	for _, m := range messages {
		if m.Kept.After(s.last) {
			s.last = m.Kept
		}
	}
	return s
}

// Do makes changes durable, all or none. what names the operation in the error.
func (s *Store) Do(what string, changes ...Change) error {
	err := s.DB.Do(context.Background(), func(t *state.Tx) error {
		for _, change := range changes {
			if err := change(t); err != nil {
				return err
			}
		}
		return nil
	}, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Exec is a change of one constant statement.
func Exec(query string, args ...any) Change {
	return func(t *state.Tx) error {
		err := t.Exec(query, args...)
		return err
	}
}

// Found reads the columns of one row; false: there is none, or an error.
func (s *Store) Found(to []any, query string, args ...any) (bool, error) {
	err := s.DB.QueryRowContext(context.Background(), query, args...).Scan(to...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Each calls row for every row of a query.
func Each(db *state.DB, row func(scan func(to ...any) error) error, query string, args ...any) error {
	rows, err := db.QueryContext(context.Background(), query, args...)
	return state.Each(rows, err, func() error { return row(rows.Scan) })
}

// Key returns the key of a message: a hash of what identifies it.
func Key(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// Seen reports whether a message with that key was kept before, and over whether it is done.
func (s *Store) Seen(key string) (known, over bool, err error) {
	var done int64
	known, err = s.Found([]any{&done}, `SELECT done FROM inbound_message WHERE folder = ? AND key = ?`, s.Folder, key)
	return known, done > 0, err
}

// Untouched reports whether the group's assistant has never had a message.
func (s *Store) Untouched() (bool, error) {
	var one int
	any, err := s.Found([]any{&one}, `SELECT 1 FROM inbound_message WHERE folder = ? LIMIT 1`, s.Folder)
	return !any, err
}

// Adding keeps a message. It gives the message its time and, when it is kept, its Seq.
func (s *Store) Adding(m *Message) Change {
	s.mu.Lock()
	m.ArrivedAt = time.Now()
	if m.Kept = m.ArrivedAt.Round(0); !m.Kept.After(s.last) {
		m.Kept = s.last.Add(1)
	}
	s.last = m.Kept
	s.mu.Unlock()
	return func(t *state.Tx) error {
		body, err := json.Marshal(m)
		if err != nil {
			return err
		}
		return t.QueryRow(`INSERT INTO inbound_message (folder, key, thread, kept, body) VALUES (?, ?, ?, ?, ?) RETURNING id`,
			s.Folder, m.Key, m.Thread, m.Kept.UnixNano(), string(body)).Scan(&m.Seq)
	}
}

// Updating keeps a message that has changed, unless it is done meanwhile.
func (s *Store) Updating(m *Message) Change {
	return func(t *state.Tx) error {
		body, err := json.Marshal(m)
		if err != nil {
			return err
		}
		err = t.Exec(`UPDATE inbound_message SET body = ? WHERE id = ? AND done = 0`, string(body), m.Seq)
		return err
	}
}

// Ending notes messages as done, and deletes what they said. It keeps the keys of the last 2,000 of
// a group.
func (s *Store) Ending(messages []*Message) Change {
	return func(t *state.Tx) error {
		for _, m := range messages {
			err := t.Exec(`UPDATE inbound_message SET turn = '', input = '', body = '',
				done = (SELECT COALESCE(MAX(done), 0) + 1 FROM inbound_message WHERE folder = ?) WHERE id = ? AND done = 0`, s.Folder, m.Seq)
			if err != nil {
				return err
			}
		}
		if len(messages) == 0 {
			return nil
		}
		err := t.Exec(`DELETE FROM inbound_message WHERE folder = ? AND done > 0
			AND done <= (SELECT MAX(done) FROM inbound_message WHERE folder = ?) - ?`, s.Folder, s.Folder, seenKeep)
		return err
	}
}

// Assigning notes which messages a turn holds: input names the follow-up of each by its Seq, and is
// empty for those of the prompt. Those that it held before wait again.
func (s *Store) Assigning(turn string, input map[int64]string) Change {
	return func(t *state.Tx) error {
		err := t.Exec(`UPDATE inbound_message SET turn = '', input = '' WHERE turn = ? AND turn <> ''`, turn)
		for _, seq := range slices.Sorted(maps.Keys(input)) {
			if err == nil {
				err = t.Exec(`UPDATE inbound_message SET turn = ?, input = ? WHERE id = ? AND done = 0`, turn, input[seq], seq)
			}
		}
		return err
	}
}

// Left is what an earlier host has left of one group, in order.
type Left struct {
	Messages []*Message
	Files    []*PendingFile
}

// Load reads all messages that are not done, and all files that are to be fetched or transcribed, by
// the group's folder.
func Load(db *state.DB) (map[string]*Left, error) {
	all := map[string]*Left{}
	of := func(folder string) *Left {
		if all[folder] == nil {
			all[folder] = &Left{}
		}
		return all[folder]
	}
	err := Each(db, func(scan func(...any) error) error {
		m := &Message{}
		var folder, body string
		var kept int64
		if err := scan(&m.Seq, &folder, &m.Key, &m.Thread, &kept, &m.Turn, &m.Input, &body); err != nil {
			return err
		}
		m.Kept = time.Unix(0, kept)
		m.ArrivedAt = time.Now().Add(-max(0, time.Since(m.Kept))) // the clock may have been set back
		of(folder).Messages = append(of(folder).Messages, m)
		return json.Unmarshal([]byte(body), m)
	}, `SELECT id, folder, key, thread, kept, turn, input, body FROM inbound_message WHERE done = 0 ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	err = Each(db, func(scan func(...any) error) error {
		w := &PendingFile{}
		var folder, body string
		if err := scan(&folder, &w.Message, &w.Index, &body); err != nil {
			return err
		}
		of(folder).Files = append(of(folder).Files, w)
		return json.Unmarshal([]byte(body), w)
	}, `SELECT folder, message, position, body FROM inbound_file ORDER BY folder, message, position`)
	if err != nil {
		return nil, fmt.Errorf("read references of files: %w", err)
	}
	return all, nil
}

// maxRefused is how many refusals of a chat are remembered.
const maxRefused = 500

// WasRefused reports whether a member was told of a refusal before. It returns false if the state
// cannot be read: then the member is told once more.
func (s *Store) WasRefused(what string) bool {
	var one int
	known, _ := s.Found([]any{&one}, `SELECT 1 FROM inbound_refusal WHERE folder = ? AND what = ?`, s.Folder, what)
	return known
}

// Refused remembers that a member was told of a refusal.
func (s *Store) Refused(what string) error {
	return s.Do("remember a refusal",
		Exec(`INSERT INTO inbound_refusal (folder, what, seq) VALUES (?, ?, (SELECT COALESCE(MAX(seq), 0) + 1 FROM inbound_refusal WHERE folder = ?))
			ON CONFLICT (folder, what) DO NOTHING`, s.Folder, what, s.Folder),
		Exec(`DELETE FROM inbound_refusal WHERE folder = ? AND seq <= (SELECT MAX(seq) FROM inbound_refusal WHERE folder = ?) - ?`, s.Folder, s.Folder, maxRefused))
}
